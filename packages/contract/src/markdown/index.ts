/** How the gateway and its page read Markdown: written once, linear in the text's length, without dependencies. */
export { type Block, type Cell, isEmpty, isVisible, parseBlocks, quote, type Row } from "./blocks.ts";
export { DEL, EM, type Run, runText, STRONG } from "./inline.ts";
export { type Inline, nestRuns, parseTree, type TreeBlock } from "./tree.ts";
