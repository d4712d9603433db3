import { Readable } from "node:stream";
import { describe, it } from "vitest";
import { readSse } from "../../../packages/contract/src/sse-reader.ts";
import { excerptOf } from "../../../packages/dashboard/src/pages/history/excerpt.ts";
import { parseHash } from "../../../packages/dashboard/src/state/address.ts";
import { describeResult, isCommand } from "../../../packages/dashboard/src/state/command.ts";
import { sessionToken } from "../../../packages/gateway/src/auth/sessions.ts";
import { render } from "../../../packages/gateway/src/cli/output.ts";
import { editDotenv, parseDotenv } from "../../../packages/gateway/src/config/dotenv.ts";
import { parseForEdit, stringifyLike } from "../../../packages/gateway/src/config/edit.ts";
import { interpolate } from "../../../packages/gateway/src/config/interpolate.ts";
import { parseConfig } from "../../../packages/gateway/src/config/parse.ts";
import { createHostGuard } from "../../../packages/gateway/src/http/hosts.ts";
import { parseQuery } from "../../../packages/gateway/src/http/query.ts";
import { isUnchanged, parseRange } from "../../../packages/gateway/src/http/send-file.ts";
import { detectType } from "../../../packages/gateway/src/lib/file-type.ts";
import { createLineSplitter } from "../../../packages/gateway/src/lib/jsonl.ts";
import { createSecretMask, redactFields } from "../../../packages/gateway/src/lib/log-redact.ts";
import { isLoopbackHost } from "../../../packages/gateway/src/lib/loopback.ts";
import { fileName, oneLine } from "../../../packages/gateway/src/lib/one-line.ts";
import { safeSegments } from "../../../packages/gateway/src/lib/safe-path.ts";
import { escapeXml } from "../../../packages/gateway/src/lib/xml.ts";
import { inboundExtension } from "../../../packages/gateway/src/media/inbound.ts";
import { declaredType, storedExtension } from "../../../packages/gateway/src/media/types.ts";
import { parseModelName } from "../../../packages/gateway/src/models/aliases.ts";
import { readChangelog } from "../../../packages/gateway/src/packages/changelog.ts";
import { isVersion } from "../../../packages/gateway/src/packages/version.ts";
import { createDeltaReader } from "../../../packages/gateway/src/runtimes/agent-cli/delta-lines.ts";
import { parseLine } from "../../../packages/gateway/src/runtimes/agent-cli/protocol.ts";
import { safeSentence } from "../../../packages/gateway/src/runtimes/agent-cli/safe-sentence.ts";
import { readSummary } from "../../../packages/gateway/src/runtimes/agent-cli/summary.ts";
import { readRequest } from "../../../packages/gateway/src/runtimes/starter/reply.ts";
import { parseCommand } from "../../../packages/gateway/src/sessions/commands.ts";
import { nameFrom } from "../../../packages/gateway/src/sessions/names.ts";
import { fold } from "../../../packages/gateway/src/store/fold.ts";
import { codePoints, gramsOf } from "../../../packages/gateway/src/store/sqlite/search/grams.ts";
import { expectLinear, filled } from "../../fixtures/linear.ts";

/** A refusal is an answer like any other. */
const quietly = (task: (text: string) => unknown) => (text: string) => {
  try {
    return task(text);
  } catch {
    return undefined;
  }
};

const PNG = { mime: "image/png", ext: "png" };
const mask = createSecretMask();
for (const secret of ["a".repeat(40), `${"a".repeat(39)}b`, "    secret with spaces", "========"])
  mask.add(secret);
const guard = createHostGuard(
  () => ({ gateway: { allowedHosts: ["gateway.example"] } }) as never,
  () => "127.0.0.1",
);
const request = (host: string, origin?: string) =>
  ({ headers: { host, origin }, httpVersion: "1.1", socket: { localAddress: "127.0.0.1" } }) as never;

/** The text in small pieces, as a slow line brings it. */
function* bytesOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64) yield bytes.subarray(at, at + 64);
}

const PARSERS: Record<string, (text: string) => unknown> = {
  query: quietly(parseQuery),
  cookies: (text) => sessionToken(text, 1),
  "dotenv file": (text) => editDotenv(text, "KEY", String(parseDotenv(text).KEY ?? "x")),
  "configuration file": (text) => parseConfig(text),
  "configuration as written": quietly((text) =>
    stringifyLike(parseForEdit(`{"a": ${JSON.stringify(text)}}`), text),
  ),
  variables: (text) => interpolate({ a: text }, [{ a: "1" }]),
  "one line": (text) => oneLine(text, 200),
  "whole text as one line": (text) => oneLine(text, text.length),
  "file name": (text) => fileName(text),
  "relative path": quietly(safeSegments),
  "log redaction": (text) => mask.mask(text),
  "log fields": (text) => redactFields({ [text]: text, list: text.split(" ") }),
  XML: escapeXml,
  "search query": (text) => [codePoints(fold(text)), gramsOf(fold(text))],
  changelog: (text) => [readChangelog(text), readChangelog(`## 1.0.0\n${text}`), isVersion(text)],
  "session name": nameFrom,
  "slash command": quietly(parseCommand),
  "range header": (text) => parseRange(`bytes=${text}`, 1000),
  "conditional header": (text) => isUnchanged({ "if-none-match": text }, '"x"', 0),
  host: quietly((text) => guard.check(request(text), false)),
  origin: quietly((text) => guard.check(request("127.0.0.1", `http://${text}`), true)),
  "host name": isLoopbackHost,
  "declared type": quietly(declaredType),
  "name of an upload": (text) => storedExtension(PNG, text),
  "name of a received file": (text) => inboundExtension(PNG, text),
  "file content": (text) => detectType(Buffer.from(text)),
  "model id": parseModelName,
  "line of an agent": (text) => parseLine(text),
  "text delta of an agent": (text) =>
    createDeltaReader(() => {})(
      Buffer.from(
        `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}}\n`,
      ),
      0,
    ),
  "end of a text delta of an agent": (text) =>
    createDeltaReader(() => {})(
      Buffer.from(
        `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}${text}\n`,
      ),
      0,
    ),
  "error of an agent": (text) => safeSentence(text, ""),
  "summary of an agent": readSummary,
  "message to the starter": readRequest,
  "JSON lines": (text) => {
    const splitter = createLineSplitter(() => {});
    for (const bytes of bytesOf(text)) splitter.push(bytes);
    splitter.end();
  },
  "server-sent events": async (text) => {
    for await (const _ of readSse(Readable.toWeb(Readable.from(bytesOf(text))) as ReadableStream<Uint8Array>))
      void _;
  },
  "table in the terminal": (text) => render({ rows: [{ name: text }, { name: text }] }),
  "address of the page": parseHash,
  "command on the page": (text) => [isCommand(text), describeResult({ command: text, result: {} } as never)],
  "excerpt on the page": (text) => excerptOf(text, text.slice(0, 50)),
};

/** What these parsers look for, over and over; `share `, `<system-reminder>` and the like begin what only some of them read. */
const TEXTS: [head: string, piece: string, tail: string][] = [
  ["", " ", ""],
  ["", " ", "x"],
  ["x", " ", "x"],
  ["", "\n", "x"],
  ["", "\r", "x"],
  ["", "\r\n", ""],
  ["", "\t ", "x"],
  ["", "\0", "x"],
  ["", "\u200b", "x"],
  ["", "a", ""],
  ["", "a", "b"],
  ["/a", "a", "/"],
  ["/", " ", "x"],
  ["", "/", "x"],
  ["", "../", "x"],
  ["", ".", "x"],
  ["a.", "a", "."],
  ["", "1", ""],
  ["", "1.", "x"],
  ["", "1-", "x"],
  ["", "=", "x"],
  ["A=", '"', "x"],
  ["", "a=b;", ""],
  ["", "a=1\n", ""],
  ["", "a&", ""],
  ["", "%41", "%"],
  ["", "%", ""],
  ["", "+", ""],
  ["", ";", "x"],
  ["", ",", "x"],
  ["", '"', ""],
  ["", '\\"', ""],
  ["", "\\", ""],
  ["", "${", "}"],
  ["", "${a}", ""],
  ["${", "a", ""],
  ["", "<", ">"],
  ["<!--", "-", ">"],
  ["<!doctype", " ", "["],
  ["", "<?", ""],
  ["", "&", ""],
  ["", "#", "x"],
  ["", "> * - ", ""],
  ["share a", " ", "\nx"],
  ["count to ", "1", " "],
  ["", "<system-reminder>", ""],
  ["", "<system-reminder>x</system-reminder>", ""],
  ["", "Summary:\n", ""],
  ["", "\n\nIf you need specific details ", ""],
  ["", "token ", "x"],
  ["", "//a:", "@"],
  ["", "sk-", "x"],
  ["", "data: x\n", "\n"],
  ["", "data: x\n\n", ""],
  ["data: ", "x", ""],
  ["", ":", "\n"],
  ["", "[", "]"],
  ["[", "::", "]"],
  ["", "{", ""],
  ["", '{"a":', ""],
  ["", '{"a":1}\n', ""],
  ["", "\ud83d", "x"],
  ["", "😀", "x"],
  ["", "é̂", "x"],
  ["", "กำ", "x"],
  ["", "ς", "Σ"],
];

describe("parsers of text from outside", () => {
  it.each(Object.entries(PARSERS))(
    "%s: takes time in proportion to the text [FUZZ-1]",
    async (name, parser) => {
      for (const [head, piece, tail] of TEXTS) {
        await expectLinear(
          parser,
          (size) => filled(size, piece, head, tail),
          `${name} of ${JSON.stringify([head, piece, tail])}`,
        );
      }
    },
    120_000,
  );
});
