import {
  type Cell,
  type Inline,
  nestRuns,
  parseTree,
  type Run,
  type TreeBlock,
} from "@agent-gateway/contract/markdown";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../CopyButton.tsx";

/** Above this many characters a text is shown plain: laying it out would stall the page. */
export const MAX_FORMATTED = 100_000;
const SHOWN_AT_ONCE = 50_000;

/** A message's text as formatted content. It is built from elements alone, never from HTML. */
export function Markdown({ text }: { text: string }) {
  if (text.length > MAX_FORMATTED) return <LongText text={text} />;
  return (
    <div class="markdown">
      {parseTree(text).map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function LongText({ text }: { text: string }) {
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  return (
    <div class="markdown">
      <pre class="plain-text">{text.slice(0, shown)}</pre>
      {shown < text.length && (
        <button type="button" class="button" onClick={() => setShown(shown + 10 * SHOWN_AT_ONCE)}>
          Show more ({Math.ceil((text.length - shown) / 1000)} thousand characters left)
        </button>
      )}
    </div>
  );
}

/** An unchanged block gives the same elements again, so a growing text costs only its last block. */
function BlockView({ block }: { block: TreeBlock }) {
  return useMemo(() => renderBlock(block), [block.raw, block.type]);
}

function renderBlock(block: TreeBlock) {
  switch (block.type) {
    case "paragraph":
      return <p>{inline(block.runs)}</p>;
    case "heading":
      return <Heading level={block.level}>{inline(block.runs)}</Heading>;
    case "code":
      return <CodeBlock language={block.language} text={block.text} />;
    case "quote":
      return <blockquote>{nested(block.blocks)}</blockquote>;
    case "list":
      return <List start={block.start} items={block.items} />;
    case "table":
      return <Table head={block.head} rows={block.rows} />;
    case "rule":
      return <hr />;
  }
}

const nested = (blocks: TreeBlock[]) => blocks.map((inner, index) => <BlockView key={index} block={inner} />);

/** Headings of a message stand below those of the page. */
function Heading({ level, children }: { level: number; children: ComponentChildren }) {
  if (level === 1) return <h3>{children}</h3>;
  return level === 2 ? <h4>{children}</h4> : <h5>{children}</h5>;
}

function CodeBlock({ language, text }: { language: string; text: string }) {
  return (
    <figure class="code-block">
      <figcaption>
        <span>{language || "text"}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide block must be scrollable by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}

function List({ start, items }: { start: number | undefined; items: TreeBlock[][] }) {
  const entries = items.map((blocks, index) => {
    const [only] = blocks;
    // A one-line item is not wrapped in a paragraph, so that the list stays tight.
    const tight = only?.type === "paragraph" ? [inline(only.runs), nested(blocks.slice(1))] : nested(blocks);
    return <li key={index}>{tight}</li>;
  });
  return start === undefined ? <ul>{entries}</ul> : <ol start={start}>{entries}</ol>;
}

function Table({ head, rows }: { head: readonly Cell[]; rows: readonly (readonly Cell[])[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table must be scrollable by keyboard.
    <div class="table-wrap" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={column} scope="col">
                {inline(cell.runs)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inline(cell.runs)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(runs: readonly Run[]) {
  return nestRuns(runs).map(renderInline);
}

function renderInline(node: Inline): ComponentChildren {
  switch (node.type) {
    case "text":
      return node.text;
    case "code":
      return <code>{node.text}</code>;
    case "strong":
      return <strong>{node.children.map(renderInline)}</strong>;
    case "em":
      return <em>{node.children.map(renderInline)}</em>;
    case "del":
      return <del>{node.children.map(renderInline)}</del>;
    case "link":
      return (
        <a href={node.href} target="_blank" rel="noopener noreferrer nofollow">
          {node.children.map(renderInline)}
        </a>
      );
    case "break":
      return <br />;
  }
}
