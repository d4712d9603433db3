// Loaded by Stryker: vitest in threads that outlive a change. To start a thread and to load the code again costs many
// times what the tests cost.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { strykerPlugins as vitest } from "@stryker-mutator/vitest-runner";
import { ThreadsPoolWorker } from "vitest/node";

/** After so many changes a thread begins anew, so that what they left behind cannot add up. */
const CHANGES = 40;
/** A test that hangs because of a change ends after this; the pauses of good ones are much shorter. */
const TEST_MS = 5_000;
/** All tests of a change may take this long, and some times what they took without it; then the thread is ended. */
const LEAST_MS = 4_000;
const TIMES = 4;
/** For a first look at a large room: of so many changes one is tried. */
const EVERY = Number(process.env.MUTATE_EVERY ?? 1);
const SETUP = fileURLToPath(new URL("mutate-setup.mjs", import.meta.url));

/** Threads by what their tests may share. */
const threads = new Map();
let current = "";

async function renew() {
  const ending = [...threads.values()];
  threads.clear();
  await Promise.all(ending.map(({ thread }) => thread.stop()));
}

/** A thread as vitest starts it, which stays when vitest asks it to stop. */
class WarmWorker {
  name = "warm";
  #key = current;
  #heard = new Map();

  constructor(options) {
    this.options = options;
  }
  get #thread() {
    return threads.get(this.#key)?.thread;
  }
  async start() {
    const known = threads.get(this.#key);
    if (known && ++known.uses <= CHANGES) return;
    threads.delete(this.#key);
    await known?.thread.stop();
    const thread = new ThreadsPoolWorker(this.options);
    await thread.start();
    thread.thread.setMaxListeners(0);
    threads.set(this.#key, { thread, uses: 1 });
  }
  async stop() {
    for (const [callback, event] of this.#heard) this.#thread?.off(event, callback);
    this.#heard.clear();
  }
  on(event, callback) {
    this.#heard.set(callback, event);
    this.#thread.on(event, callback);
  }
  off(event, callback) {
    this.#heard.delete(callback);
    this.#thread?.off(event, callback);
  }
  send(message) {
    if (message.type !== "stop") return this.#thread.send(message);
    const stopped = { type: "stopped", __vitest_worker_response__: true };
    for (const [callback, event] of this.#heard) if (event === "message") callback(stopped);
  }
  deserialize(data) {
    return data;
  }
  canReuse() {
    return true;
  }
}

const mocking = new Map();
/** What a test's file shares its modules with: nothing if it replaces some of them, else all others. */
function groupOf(testId) {
  const file = testId.slice(0, testId.indexOf("#"));
  if (!mocking.has(file)) mocking.set(file, /\bvi\.mock\(/.test(readFileSync(file, "utf8")));
  return mocking.get(file) ? file : "";
}

const { factory } = vitest[0];

function warmRunner(injector) {
  const runner = factory(injector);
  const dryRun = runner.dryRun.bind(runner);
  const mutantRun = runner.mutantRun.bind(runner);
  /** How long each test took. */
  let times = new Map();

  function warmUp() {
    for (const { config } of runner.ctx.projects) {
      config.isolate = false;
      config.pool = "warm";
      config.poolRunner = { name: "warm", createPoolWorker: (options) => new WarmWorker(options) };
      config.testTimeout = TEST_MS;
      if (!config.setupFiles.includes(SETUP)) config.setupFiles = [...config.setupFiles, SETUP];
    }
  }

  /** A loop without end keeps its thread from noticing anything: it is ended from outside. */
  async function inTime(options) {
    const usual = options.testFilter.reduce((sum, id) => sum + (times.get(id) ?? 0), 0);
    let late = false;
    const timer = setTimeout(
      () => {
        late = true;
        void renew();
      },
      LEAST_MS + TEST_MS + TIMES * usual,
    );
    try {
      const result = await mutantRun(options);
      return late ? { status: "timeout" } : result;
    } catch (error) {
      if (late) return { status: "timeout" };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async function everyGroup(options) {
    const groups = Map.groupBy(options.testFilter ?? times.keys(), groupOf);
    // What replaces modules is quick: it does so to need no disk and no process.
    const quickFirst = [...groups].toSorted(([a], [b]) => Number(a === "") - Number(b === ""));
    let nrOfTests = 0;
    for (const [key, testFilter] of quickFirst) {
      current = key;
      const result = await inTime({ ...options, testFilter });
      if (result.status !== "survived") return result;
      nrOfTests += result.nrOfTests;
    }
    return { status: "survived", nrOfTests };
  }

  return Object.assign(runner, {
    async dryRun(options) {
      const result = await dryRun(options);
      times = new Map((result.tests ?? []).map(({ id, timeSpentMs }) => [id, timeSpentMs]));
      return result;
    },
    async mutantRun(options) {
      if (Number(options.activeMutant.id) % EVERY !== 0) {
        return { status: "error", errorMessage: "It is not in the sample." };
      }
      warmUp();
      // A change of what modules do while they load needs new ones, and so does the next change.
      const loads = options.mutantActivation === "static";
      if (loads) await renew();
      const result = await everyGroup(options);
      // What was still going on when a test gave up would go on beside the next ones.
      if (loads || /timed out/i.test(result.failureMessage ?? "")) await renew();
      return result;
    },
  });
}
warmRunner.inject = factory.inject;

export { strykerValidationSchema } from "@stryker-mutator/vitest-runner";
export const strykerPlugins = [{ ...vitest[0], factory: warmRunner }];
