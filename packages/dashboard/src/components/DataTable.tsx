import type { ComponentChildren } from "preact";

export interface Column<Row> {
  title: string;
  numeric?: boolean;
  cell: (row: Row) => ComponentChildren;
}

/** A table with a heading; a wide one scrolls within itself. */
export function DataTable<Row>({
  title,
  columns,
  rows,
  keyOf,
  empty,
}: {
  title: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: string;
}) {
  return (
    <section class="data" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="empty small">{empty}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table must be scrollable by keyboard.
        <div class="table-wrap" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {columns.map(({ title: name, numeric }) => (
                  <th key={name} scope="col" class={numeric ? "numeric" : undefined}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map(({ title: name, numeric, cell }) => (
                    <td key={name} class={numeric ? "numeric" : undefined}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
