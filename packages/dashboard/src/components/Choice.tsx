/** A list to choose one value from. */
export function Choice(props: {
  label: string;
  name?: string;
  value: string;
  options: readonly (readonly [value: string, name: string])[];
  onChoose: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select
        class="input"
        name={props.name}
        value={props.value}
        onChange={(event) => props.onChoose(event.currentTarget.value)}
      >
        {props.options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
