import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createAcpRuntime } from "../../packages/gateway/src/runtimes/acp/index.ts";
import type { OpenOptions, RuntimeSession } from "../../packages/gateway/src/runtimes/types.ts";
import { type FakeModel, hasFakeModel, startFakeModel } from "../fixtures/fake-model.ts";
import { npmProgram } from "../fixtures/npm-program.ts";
import { openOptions, runTurn } from "../unit/runtimes/open-options.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const MCP_SERVER = join(import.meta.dirname, "../fixtures/mcp-server.mjs");
/** These programs take seconds to start, and more on a machine that does other things. */
const TEST_MS = 120_000;

export interface AcpProgram {
  /** Package and exact version. */
  spec: string;
  args: readonly string[];
  /** Environment that leads it to the fake model; may write files into `home`. */
  setUp(model: string, home: string): Promise<Record<string, string>>;
  /** The model's call of the program's shell. */
  shell(command: string): string;
  /** The model's call of the program's tool that writes a file there. */
  writer?(path: string): string;
  /** Name of the shell tool. */
  shellTool: string;
  /** The model's call of the gateway's `share_file`; undefined where the fake cannot make such a call. */
  share?: string;
  /** False where all tools of a server cannot be allowed at once. */
  wholeServers?: false;
  /** What a request to the model looks like that carries an image. */
  image: { path: string; mark: RegExp };
  /** Takes up a conversation by itself after its process is gone. */
  resumes: boolean;
}

/** What every agent program must do under the gateway, shown with the real one against a fake of its model. */
export async function describeAcpProgram(program: AcpProgram): Promise<void> {
  const command = hasFakeModel ? await npmProgram(program.spec) : null;
  describe.skipIf(command === null)(`${program.spec} from npm`, { timeout: TEST_MS }, () => {
    let home: string;
    let cwd: string;
    let env: Record<string, string>;
    let model: FakeModel;
    let shared: RuntimeSession;

    const open = async (over: Partial<OpenOptions> = {}) => {
      const allowTools = over.allowTools ?? true;
      const runtime = createAcpRuntime({
        command: command!,
        args: program.args,
        hostEnv: { PATH: process.env.PATH },
        env,
        allowTools,
      });
      return runtime.open(openOptions({ cwd, sessionDir: join(home, "session"), env, ...over }));
    };
    const fresh = async (over: Partial<OpenOptions> = {}) => {
      const session = await open(over);
      onTestFinished(() => session.close());
      return session;
    };

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), "gateway-program-"));
      cwd = join(home, "workspace");
      await mkdir(cwd);
      await mkdir(join(home, "session"));
      model = await startFakeModel(join(home, "requests"));
      env = { HOME: home, ...(await program.setUp(model.url, home)) };
      shared = await open();
    }, TEST_MS);
    afterAll(async () => {
      await shared?.close();
      await model.stop();
      await rm(home, { recursive: true, force: true, maxRetries: 5 });
    });

    test("says hello as it is told to, and takes an image", async () => {
      const { outcome, text } = await runTurn(shared, "SAY hello from the model");
      expect(outcome.status).toBe("done");
      expect(outcome.text).toMatch(/hello from the model$/);
      expect(text).toBe(outcome.text);
      const path = join(cwd, "dot.png");
      await writeFile(path, PNG);
      const seen = await runTurn(shared, { text: "SAY seen", files: [{ path, mime: "image/png" }] });
      expect(seen.outcome.text).toMatch(/seen$/);
      const requests = await model.requests(program.image.path);
      expect(requests.some((request) => program.image.mark.test(JSON.stringify(request)))).toBe(true);
    });

    test("uses a tool that is allowed: shown by a short name, with the text around it apart", async () => {
      const { outcome, events } = await runTurn(shared, program.shell("touch allowed"));
      expect(outcome.status).toBe("done");
      expect(existsSync(join(cwd, "allowed"))).toBe(true);
      const used = events.find((event) => event.type === "tool_use");
      expect(used?.name).toBe(program.shellTool);
      expect(events).toContainEqual(
        expect.objectContaining({ type: "tool_result", id: used?.id, isError: false }),
      );
      expect(outcome.text).toMatch(/Calling a tool\.\n\nTool said: /);
    });

    test("stops within moments, keeps the text so far, and takes the next message", async () => {
      let asked = 0;
      const { outcome } = await runTurn(shared, "SLOW 400 50", (event) => {
        if (event.type !== "text" || asked > 0 || !event.text.includes("w")) return;
        asked = Date.now();
        void shared.interrupt();
      });
      expect(outcome.status).toBe("interrupted");
      expect(Date.now() - asked).toBeLessThan(5000);
      expect(outcome.text).toContain("w0");
      expect((await runTurn(shared, "SAY back")).outcome.text).toMatch(/back$/);
    });

    test("goes on with its conversation in a new process", async () => {
      await runTurn(shared, "SAY the first reply");
      const resume = shared.resumeToken ?? undefined;
      await shared.close();
      const history = [
        { role: "user", text: "from the store" },
        { role: "assistant", text: "stored reply" },
      ] as const;
      shared = await open({ resume, history });
      expect((await runTurn(shared, "SAY resumed")).outcome.text).toMatch(/resumed$/);
      const requests = (await model.requests(program.image.path)).map((request) => JSON.stringify(request));
      const last = requests.findLast((request) => request.includes("SAY resumed"))!;
      expect(last).toContain(program.resumes ? "the first reply" : "stored reply");
    });

    test("a model that is down is an error in words", async () => {
      const { outcome } = await runTurn(shared, "ERR 401");
      expect(outcome.status).toBe("failed");
      expect(outcome.error).not.toMatch(/[{}]/);
      expect(outcome.error).toMatch(/\w{3,} \w{2,}/);
      await shared.close();
    });

    test("uses no tool with allowTools false, the gateway's own apart [LIM-1]", async () => {
      const calls: unknown[] = [];
      const share = {
        name: "share_file",
        description: "Shares a file of the workspace.",
        inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
        call: async (args: Record<string, unknown>) => {
          calls.push(args);
          return "shared as number 7";
        },
      };
      const session = await fresh({ tools: [share], allowTools: false });
      await runTurn(session, program.shell("touch refused"));
      expect(existsSync(join(cwd, "refused"))).toBe(false);
      expect((await runTurn(session, "SAY still here")).outcome.text).toMatch(/still here$/);
      if (program.share === undefined) return;
      const { outcome } = await runTurn(session, `TOOL ${program.share} {"path":"a.png"}`);
      expect(calls).toEqual([{ path: "a.png" }]);
      expect(outcome.text).toContain("shared as number 7");
    });

    test.skipIf(program.share === undefined)(
      "calls a tool of a connector, also where tools are limited to it [CONN-1, CONN-4]",
      async () => {
        const mcpServers = {
          crm: { command: process.execPath, args: [MCP_SERVER], env: { FIXTURE_MARK: "with a secret" } },
        };
        const echo = `${program.share!.replace("gateway_", "crm_").replace(/share_file$/, "echo")}`;
        const whole = program.wholeServers === false ? [] : [["mcp__crm"]];
        for (const allowTools of [true, ...whole, ["mcp__crm__echo"]]) {
          const session = await fresh({ mcpServers, allowTools });
          const { outcome } = await runTurn(session, `TOOL ${echo} {"text":"hi"}`);
          expect(outcome.text, JSON.stringify([allowTools, outcome.error])).toContain(
            "echo hi with a secret",
          );
          await session.close();
        }
      },
    );

    test("uses a tool that is listed, and no other [LIM-1]", async () => {
      const session = await fresh({ allowTools: [program.shellTool] });
      const { outcome } = await runTurn(session, program.shell("touch listed"));
      expect(existsSync(join(cwd, "listed")), outcome.error ?? outcome.text).toBe(true);
      if (program.writer === undefined) return;
      await runTurn(session, program.writer(join(cwd, "unlisted")));
      expect(existsSync(join(cwd, "unlisted"))).toBe(false);
    });
  });
}
