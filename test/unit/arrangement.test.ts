import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseBlocks, parseTree, type TreeBlock } from "../../packages/contract/src/markdown/index.ts";
import { misplacedGlobals } from "../../scripts/globals.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const config = join(root, ".dependency-cruiser.json");
const { forbidden } = JSON.parse(readFileSync(config, "utf8")) as { forbidden: { name: string }[] };

const GATEWAY = "packages/gateway/src";
const PAGE = "packages/dashboard/src";

/** For each rule files that break it: the one that imports, and what it imports. Rooms have names that no rule knows. */
const VIOLATIONS: Record<string, [from: string, to: string][]> = {
  "no-circular": [[`${GATEWAY}/plants/a.ts`, "./b.ts"]],
  "no-circular-types": [[`${GATEWAY}/plants/types-a.ts`, "type ./types-b.ts"]],
  "contract-depends-on-zod-alone": [["packages/contract/src/a.ts", "node:path"]],
  "packages-meet-in-the-contract": [[`${PAGE}/state/a.ts`, "../../../gateway/src/plants/index.ts"]],
  "lib-knows-nothing-of-the-gateway": [[`${GATEWAY}/lib/a.ts`, "../plants/index.ts"]],
  "runtimes-know-lib-alone": [[`${GATEWAY}/runtimes/a.ts`, "../store/index.ts"]],
  "store-config-auth-know-lib-alone": [[`${GATEWAY}/auth/a.ts`, "../config/index.ts"]],
  "rooms-never-import-each-other": [[`${GATEWAY}/plants/room.ts`, "../animals/index.ts"]],
  "http-and-cli-are-imported-by-programs-alone": [[`${GATEWAY}/plants/http.ts`, "../http/index.ts"]],
  "programs-are-imported-by-programs-alone": [[`${GATEWAY}/plants/app.ts`, "../app.ts"]],
  "only-a-room-s-index-is-visible": [
    [`${GATEWAY}/plants/config.ts`, "../config/inner.ts"],
    [`${GATEWAY}/plants/lib.ts`, "../lib/guarded/inner.ts"],
  ],
  "programs-see-only-a-room-s-index": [[`${GATEWAY}/serve.ts`, "./plants/inner.ts"]],
  "only-a-nested-room-s-index-is-visible": [[`${GATEWAY}/plants/trees/a.ts`, "../flowers/inner.ts"]],
  "a-room-sees-only-its-nested-rooms-index": [[`${GATEWAY}/plants/nested.ts`, "./flowers/inner.ts"]],
  "only-an-inner-room-s-index-is-visible": [[`${GATEWAY}/plants/trees/oaks/a.ts`, "../firs/inner.ts"]],
  "a-nested-room-sees-only-its-inner-rooms-index": [[`${GATEWAY}/plants/trees/b.ts`, "./firs/inner.ts"]],
  "channels-never-import-siblings": [[`${GATEWAY}/channels/onechat/a.ts`, "../otherchat/index.ts"]],
  "providers-libraries-stay-in-their-channel": [[`${GATEWAY}/plants/provider.ts`, "grammy"]],
  "files-of-agents-go-through-lib-guarded": [[`${GATEWAY}/plants/files.ts`, "node:fs/promises"]],
  "processes-start-in-one-place": [[`${GATEWAY}/plants/process.ts`, "node:child_process"]],
  "the-page-s-client-knows-nothing-of-the-page": [[`${PAGE}/api/a.ts`, "../state/b.ts"]],
  "the-page-s-state-knows-no-page": [[`${PAGE}/state/b.ts`, "../components/c.ts"]],
  "the-page-s-components-know-no-page": [[`${PAGE}/components/a.ts`, "../pages/chat/b.ts"]],
  "pages-never-import-each-other": [[`${PAGE}/pages/history/a.ts`, "../chat/b.ts"]],
};

/** The other halves of the circles, each of which is reported once. */
const BACK: [from: string, to: string][] = [
  [`${GATEWAY}/plants/b.ts`, "./a.ts"],
  [`${GATEWAY}/plants/types-b.ts`, "type ./types-a.ts"],
];

/** Nothing in these breaks a rule. */
const ALLOWED: [from: string, to: string][] = [
  [`${GATEWAY}/animals/a.ts`, "../lib/clock.ts"],
  [`${GATEWAY}/animals/b.ts`, "../lib/guarded/index.ts"],
  [`${GATEWAY}/animals/c.ts`, "../store/index.ts"],
  [`${GATEWAY}/animals/d.ts`, "./birds/index.ts"],
  [`${GATEWAY}/animals/birds/e.ts`, "../f.ts"],
  [`${GATEWAY}/app.ts`, "./animals/index.ts"],
  [`${PAGE}/pages/chat/a.ts`, "../../state/c.ts"],
];

interface Violation {
  from: string;
  rule: { name: string };
}

describe("import rules", () => {
  const folder = mkdtempSync(join(tmpdir(), "agent-gateway-rules-"));
  let seen: Violation[] = [];
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeAll(() => {
    const imports = new Map<string, string[]>();
    for (const [from, to] of [...Object.values(VIOLATIONS).flat(), ...BACK, ...ALLOWED]) {
      const bare = to.replace("type ", "");
      const what = to.startsWith("type ") ? "import type" : "import";
      const line = to.startsWith("type ") ? `${what} { X } from "${bare}";` : `${what} "${bare}";`;
      imports.set(from, [...(imports.get(from) ?? []), line]);
      const target = join(dirname(from), bare);
      if (bare.startsWith(".") && !imports.has(target)) imports.set(target, []);
    }
    imports.set("node_modules/grammy/index.js", []);
    for (const [path, lines] of imports) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), `${lines.join("\n")}\nexport interface X { x: 1 }\n`);
    }
    writeFileSync(join(folder, "node_modules/grammy/index.js"), "");
    writeFileSync(join(folder, "node_modules/grammy/package.json"), '{"name":"grammy","main":"index.js"}');
    writeFileSync(join(folder, "package.json"), '{"dependencies":{"grammy":"1"}}');
    writeFileSync(join(folder, "tsconfig.json"), readFileSync(join(root, "tsconfig.json")));
    const cruise = join(root, "node_modules/dependency-cruiser/bin/dependency-cruiser.mjs");
    const run = spawnSync(
      process.execPath,
      [cruise, "--config", config, "--output-type", "json", "packages/contract/src", GATEWAY, PAGE],
      { cwd: folder, encoding: "utf8", maxBuffer: 1 << 26 },
    );
    seen = (JSON.parse(run.stdout) as { summary: { violations: Violation[] } }).summary.violations;
  }, 60_000);

  it("are all tried here [ARRANGE-1]", () => {
    expect(Object.keys(VIOLATIONS).sort()).toEqual(forbidden.map(({ name }) => name).sort());
  });

  it.each(Object.entries(VIOLATIONS))("%s fires [ARRANGE-1]", (name, planted) => {
    const fired = seen.filter(({ rule }) => rule.name === name).map(({ from }) => from);
    for (const [from] of planted) expect(fired).toContain(from);
  });

  it("let pass what is allowed [ARRANGE-1]", () => {
    const allowed = new Set(ALLOWED.map(([from]) => from));
    expect(seen.filter(({ from }) => allowed.has(from))).toEqual([]);
  });
});

describe("clock, timers and network", () => {
  const found = (path: string, text: string) => misplacedGlobals(path, text).length;

  it.each([
    ["const now = Date.now();", `${GATEWAY}/sessions/a.ts`, `${GATEWAY}/lib/a.ts`],
    ["const now = new Date();", `${GATEWAY}/history/a.ts`, `${GATEWAY}/cli/a.ts`],
    ["setTimeout(run, 5);", `${GATEWAY}/channels/a.ts`, `${GATEWAY}/lib/clock.ts`],
    ["const t = setInterval(run, 5);", `${GATEWAY}/app.ts`, `${GATEWAY}/serve.ts`],
    [
      'import { setTimeout as wait } from "node:timers/promises";',
      `${GATEWAY}/http/a.ts`,
      `${GATEWAY}/cli/a.ts`,
    ],
    ["await fetch(url);", `${GATEWAY}/sessions/a.ts`, `${GATEWAY}/channels/support/a.ts`],
    ["await fetch(url);", `${PAGE}/pages/chat/a.ts`, `${PAGE}/api/client.ts`],
    ["setTimeout(run, 5);", `${PAGE}/pages/chat/a.ts`, `${PAGE}/state/a.ts`],
  ])("%s fires in %s, not in %s [ARRANGE-2]", (text, misplaced, belongs) => {
    expect(found(misplaced, text)).toBe(1);
    expect(found(belongs, text)).toBe(0);
  });

  it("are told by their lines, and not taken for what merely looks like them [ARRANGE-2]", () => {
    expect(
      misplacedGlobals(`${GATEWAY}/sessions/a.ts`, "// fetch(x)\n/* Date.now() */\n\nfetch(x);"),
    ).toEqual([
      `${GATEWAY}/sessions/a.ts:4: fetch is not used here; calls to the outside belong to channels, models, generation and the command line`,
    ]);
    expect(found(`${GATEWAY}/sessions/a.ts`, "socket.setTimeout(5); media.fetch(x); new Date(5)")).toBe(0);
  });
});

describe("Markdown", () => {
  it("is read as the same blocks for the page and for chats [ARRANGE-3]", () => {
    const leaves = (blocks: readonly TreeBlock[]): unknown[] =>
      blocks.flatMap((block) => {
        if (block.type === "quote") return leaves(block.blocks);
        if (block.type === "list") return block.items.flatMap(leaves);
        if (block.type === "code") return [block.text];
        return "runs" in block ? [block.runs] : [block.type];
      });
    const text =
      "# A\n\ntext **b**\n\n- one\n  1. two\n\n  more\n- three\n\n> said\n> - four\n\n```js\nx\n```\n\n---\nend";
    const flat = parseBlocks(text).map((block) =>
      block.type === "code" ? block.text : "runs" in block ? block.runs : block.type,
    );
    expect(leaves(parseTree(text))).toEqual(flat);
  });
});
