// Reading 200,000 characters of hostile Markdown: the gateway's own reader against mdast-util-from-markdown.
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { HOSTILE } from "../test/fixtures/hostile-markdown.ts";
import { ms, quantile, report } from "./lib.mjs";

/** The page shows texts of more than 100,000 characters unformatted. */
const SIZES = [5_000, 100_000, 200_000];
const TARGET_MS = 100;
/** A text that takes longer is given up. */
const LIMIT_MS = 3_000;
const PROSE =
  "# Title\n\nSome **strong** and _plain_ text, `code` and [a link](https://a.example).\n\n- one\n- two\n\n";

const READERS = {
  async "own, for the page"() {
    const { nestRuns, parseTree } = await import("../packages/contract/src/markdown/index.ts");
    const said = (blocks) => {
      for (const block of blocks) {
        if (block.runs) nestRuns(block.runs);
        for (const cell of [block.head, ...(block.rows ?? [])].flat()) if (cell) nestRuns(cell.runs);
        said(block.blocks ?? block.items?.flat() ?? []);
      }
    };
    return (text) => said(parseTree(text));
  },
  async "own, for channels"() {
    return (await import("../packages/contract/src/markdown/index.ts")).parseBlocks;
  },
  async "mdast-util-from-markdown"() {
    const { fromMarkdown } = await import("mdast-util-from-markdown");
    const { gfm } = await import("micromark-extension-gfm");
    const { gfmFromMarkdown } = await import("mdast-util-gfm");
    const options = { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] };
    return (text) => fromMarkdown(text, options);
  },
};

const filled = (size, [head, piece, tail]) =>
  head + piece.repeat(size / piece.length + 1).slice(0, size - head.length - tail.length) + tail;

/** Answers each text with the processor time that reading it took, in ms. */
async function serve() {
  const read = await READERS[workerData]();
  for (let round = 0; round < 50; round++) read(PROSE.repeat(20));
  parentPort.on("message", (text) => {
    const before = process.threadCpuUsage();
    read(text);
    const { user, system } = process.threadCpuUsage(before);
    parentPort.postMessage((user + system) / 1000);
  });
  parentPort.postMessage("ready");
}

function createReader(name) {
  let worker;
  return {
    /** The time in ms; `Infinity` when the limit passes. */
    async timeOf(text) {
      if (!worker) {
        worker = new Worker(new URL(import.meta.url), { workerData: name });
        await once(worker, "message");
      }
      worker.postMessage(text);
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), LIMIT_MS);
      try {
        return (await once(worker, "message", { signal: abort.signal }))[0];
      } catch {
        await worker.terminate();
        worker = undefined;
        return Number.POSITIVE_INFINITY;
      } finally {
        clearTimeout(timer);
      }
    },
    end: () => worker?.terminate(),
  };
}

async function compare() {
  for (const name of Object.keys(READERS)) {
    const reader = createReader(name);
    const prose = await reader.timeOf(PROSE.repeat(200_000 / PROSE.length));
    console.log(`${name}: ${ms(prose)} for 200,000 characters of prose`);
    for (const size of SIZES) {
      const seen = [];
      for (const hostile of HOSTILE) seen.push({ hostile, time: await reader.timeOf(filled(size, hostile)) });
      const times = seen.map(({ time }) => time);
      const [worst] = seen.toSorted((a, b) => b.time - a.time);
      const late = times.filter((time) => time === Number.POSITIVE_INFINITY).length;
      const over = times.filter((time) => time > TARGET_MS).length;
      const text = `median ${ms(quantile(times, 0.5))}, ${over} of ${times.length} over ${TARGET_MS} ms, ${late} over ${LIMIT_MS} ms, slowest ${JSON.stringify(worst.hostile)} ${ms(worst.time)}`;
      if (name === "own, for the page" && size > 100_000) console.log(`      ${size} characters: ${text}`);
      else if (name.startsWith("own"))
        report(`${name}, ${size} characters`, text, `<= ${TARGET_MS} ms each`, over === 0);
      else console.log(`      ${size} characters: ${text}`);
    }
    await reader.end();
  }
}

await (isMainThread ? compare() : serve());
