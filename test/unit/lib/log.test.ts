import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLogger, type LogSettings } from "../../../packages/gateway/src/lib/log.ts";
import { redactFields } from "../../../packages/gateway/src/lib/log-redact.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";
import { root, until } from "../../harness.ts";

const DAY = 86_400_000;
const defaults: LogSettings = { level: "info", maxFileBytes: 16_777_216, maxFiles: 3, retentionDays: 14 };

async function open(settings: Partial<LogSettings> = {}, folder?: string) {
  const dir = folder ?? join(await tempFolder(), "logs");
  const clock = manualClock();
  const out: string[] = [];
  const stdout = { write: (text: string) => out.push(text) };
  const logger = createLogger({ dir, clock, config: { ...defaults, ...settings }, stdout });
  onTestFinished(() => logger.close());
  const read = async (name = "gateway.log") => {
    const text = await readFile(join(dir, name), "utf8").catch(() => "");
    return text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { ...logger, dir, clock, out, read };
}

describe("the level", () => {
  it("holds for file and stdout, for children too, and changes without a restart [CONF-9]", async () => {
    const { log, configure, flush, read, out } = await open({ level: "warn" });
    const child = log.child({ agent: "a" });
    child.info({}, "quiet");
    child.warn({ n: 1 }, "loud");
    configure({ ...defaults, level: "debug" });
    child.debug({}, "now heard");
    await flush();
    expect(await read()).toMatchObject([
      { level: "warn", agent: "a", n: 1, msg: "loud", time: 1_800_000_000_000 },
      { level: "debug", agent: "a", msg: "now heard" },
    ]);
    expect(out).toEqual(["08:00:00 warn loud agent=a n=1\n", "08:00:00 debug now heard agent=a\n"]);
  });

  it("of stdout lets no text fake a line", async () => {
    const { log, out, flush } = await open();
    log.info({ name: "x\n08:00:00 info all is well" }, "a\nb\u001b[2J");
    await flush();
    expect(out).toHaveLength(1);
    expect(out[0]).toBe('08:00:00 info a b [2J name="x\\n08:00:00 info all is well"\n');
  });
});

describe("rotation", () => {
  it("comes before a file would exceed maxFileBytes; maxFiles generations stay [CONF-9]", async () => {
    const { log, flush, dir, read } = await open({ maxFileBytes: 1000, maxFiles: 2 });
    for (let number = 0; number < 60; number++) log.info({ number }, "a line of some length");
    await flush();
    const names = (await readdir(dir)).sort();
    expect(names).toEqual(["gateway.log", "gateway.log.1", "gateway.log.2"]);
    for (const name of names) expect((await stat(join(dir, name))).size).toBeLessThanOrEqual(1000);
    const numbers = [];
    for (const name of names.toReversed()) numbers.push(...(await read(name)).map((line) => line.number));
    expect(numbers).toEqual(Array.from(numbers, (_, index) => 60 - numbers.length + index));
  });

  it("keeps none with maxFiles 0, and deletes surplus generations when it is lowered", async () => {
    const { log, flush, dir, configure } = await open({ maxFileBytes: 300, maxFiles: 3 });
    for (let number = 0; number < 30; number++) log.info({ number }, "a line of some length");
    await flush();
    expect(await readdir(dir)).toHaveLength(4);
    configure({ ...defaults, maxFileBytes: 300, maxFiles: 0 });
    for (let number = 0; number < 10; number++) log.info({ number }, "a line of some length");
    await flush();
    expect(await readdir(dir)).toEqual(["gateway.log"]);
  });

  it("gives a line that is longer than the limit a file of its own", async () => {
    const { log, flush, read } = await open({ maxFileBytes: 200 });
    log.info({}, "short");
    log.info({ text: "x".repeat(1000) }, "long");
    log.info({}, "short again");
    await flush();
    expect((await read("gateway.log.1"))[0]!.msg).toBe("long");
    expect((await read())[0]!.msg).toBe("short again");
  });
});

describe("retention", () => {
  it("deletes old logs at boot and daily, and keeps all with 0 [CONF-9]", async () => {
    const dir = await tempFolder();
    const now = manualClock().now();
    const put = async (name: string, daysOld: number) => {
      await writeFile(join(dir, name), "{}\n");
      await utimes(join(dir, name), (now - daysOld * DAY) / 1000, (now - daysOld * DAY) / 1000);
    };
    await Promise.all([
      put("gateway.log.1", 15),
      put("other.log", 15),
      put("gateway.log.2", 13.5),
      put("notes.txt", 99),
    ]);
    const kept = async () => (await readdir(dir)).sort().join(" ");
    const forever = await open({ retentionDays: 0 }, dir);
    forever.clock.advance(2 * DAY);
    expect(await kept()).toBe("gateway.log.1 gateway.log.2 notes.txt other.log");
    const { clock, configure } = await open({}, dir);
    await until(async () => (await kept()) === "gateway.log.2 notes.txt", "the sweep at boot");
    clock.advance(DAY);
    await until(async () => (await kept()) === "notes.txt", "the daily sweep");
    await put("x.log", 5);
    configure({ ...defaults, retentionDays: 2 });
    await until(async () => (await kept()) === "notes.txt", "the sweep after a change");
  });
});

describe("secrets", () => {
  it("are masked by the name of their field at any depth, also in children and errors", async () => {
    const { log, flush, dir } = await open();
    const error = new Error("failed", { cause: { password: "SECRET-1" } });
    log.child({ botToken: "SECRET-2" }).info(
      {
        err: error,
        headers: { "X-Api-Key": "SECRET-3", Cookie: "SECRET-4", list: [{ apiKey: ["SECRET-5"] }] },
      },
      "message",
    );
    await flush();
    const text = await readFile(join(dir, "gateway.log"), "utf8");
    expect(text).not.toContain("SECRET");
    expect(text).toContain('"message":"failed"');
  });

  it("are masked by their value wherever they stand, from then on", async () => {
    const { log, addSecret, flush, dir, out } = await open();
    addSecret('gk_"quoted"\\value');
    addSecret("short");
    log.info({ url: 'http://x/?a=gk_"quoted"\\value' }, 'key gk_"quoted"\\value, short');
    await flush();
    for (const text of [await readFile(join(dir, "gateway.log"), "utf8"), out.join("")]) {
      expect(text).not.toContain("quoted");
      expect(text).toContain("short");
    }
  });

  it("never survive redaction in fields called so, and redaction never throws", () => {
    const name = fc.constantFrom(
      "token",
      "accessToken",
      "api_key",
      "Authorization",
      "cookie",
      "client_secret",
      "key",
    );
    fc.assert(
      fc.property(fc.jsonValue(), name, (value, key) => {
        const [shown] = Object.values(redactFields({ [key]: "the-secret", value }));
        expect(shown).toBe("[redacted]");
      }),
    );
    const loop: Record<string, unknown> = {
      n: 1n,
      at: new Date(0),
      bytes: new Uint8Array(2),
      map: new Map(),
    };
    loop.self = loop;
    expect(() => JSON.stringify(redactFields(loop))).not.toThrow();
  });
});

describe("writing", () => {
  it("goes on after the folder was away, and says how much was lost", async () => {
    const { log, flush, dir, read } = await open();
    await mkdir(join(dir, ".."), { recursive: true });
    await writeFile(dir, "a file in the way");
    log.info({}, "one");
    log.info({}, "two");
    await flush();
    await rm(dir);
    log.info({}, "three");
    await flush();
    expect((await read()).map(({ msg }) => msg)).toEqual(["2 log lines were lost", "three"]);
  });

  it("starts a new file when the old one was taken away", async () => {
    const { log, flush, dir, read } = await open();
    log.info({}, "one");
    await flush();
    await rm(join(dir, "gateway.log"));
    log.info({}, "two");
    await flush();
    expect(await read()).toMatchObject([{ msg: "two" }]);
  });

  it("happens in the background soon after, in order, and further logs have files of their own", async () => {
    const { log, stream, clock, read, out } = await open();
    const other = stream("channels");
    for (let number = 0; number < 100; number++) log.info({ number }, "x");
    other.info({}, "elsewhere");
    expect(await read()).toEqual([]);
    clock.advance(1000);
    await until(async () => (await read()).length === 100, "the lines");
    expect((await read()).map((line) => line.number)).toEqual(
      Array.from({ length: 100 }, (_, index) => index),
    );
    await until(async () => (await read("channels.log")).length === 1, "the other file");
    expect(out).toHaveLength(100);
    for (const name of ["gateway", "../x", "", "A"]) expect(() => stream(name)).toThrow(TypeError);
  });

  it("loses nothing when the process exits at once, and survives a closed stdout", async () => {
    const dir = await tempFolder();
    const script = `
      const { createLogger } = await import("./packages/gateway/src/lib/log.ts");
      const { systemClock } = await import("./packages/gateway/src/lib/clock.ts");
      const { log } = createLogger({ dir: ${JSON.stringify(dir)}, clock: systemClock, stdout: process.stdout,
        config: ${JSON.stringify(defaults)} });
      for (let n = 0; n < 2000; n++) { log.info({ n }, "line"); if (n % 500 === 0) await new Promise(setImmediate); }
      process.exit(3);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
    child.stdout.destroy();
    let stderr = "";
    child.stderr.on("data", (chunk) => (stderr += chunk));
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect([code, stderr]).toEqual([3, ""]);
    const lines = (await readFile(join(dir, "gateway.log"), "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).n)).toEqual(
      Array.from({ length: 2000 }, (_, index) => index),
    );
  });
});
