import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { type Machine, serviceCommand } from "../../../packages/gateway/src/cli/service/index.ts";
import { createLaunchd } from "../../../packages/gateway/src/cli/service/launchd.ts";
import { planService } from "../../../packages/gateway/src/cli/service/plan.ts";
import { createSystemd } from "../../../packages/gateway/src/cli/service/systemd.ts";
import { runProgram } from "../../../packages/gateway/src/lib/process.ts";
import { runCli } from "../../fixtures/cli.ts";
import { until } from "../../harness.ts";
import { ownFolder } from "../../program.ts";

const fake = fileURLToPath(new URL("../../fixtures/fake-services.sh", import.meta.url));

async function rig(over: Partial<Machine> = {}) {
  const folder = await ownFolder();
  const [tools, home] = [join(folder, "tools"), join(folder, "home")];
  await mkdir(tools);
  await mkdir(home);
  for (const name of ["systemctl", "launchctl"]) await symlink(fake, join(tools, name));
  const env: Record<string, string> = { PATH: `${tools}:/usr/bin:/bin`, HOME: home };
  const machine: Machine = {
    platform: "linux",
    uid: 1000,
    home,
    env,
    cwd: folder,
    tool: (command) => runProgram(command, { env, timeoutMs: 10_000 }),
    ...over,
  };
  const said = { out: "", notes: "" };
  const out = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    said.out += text;
    return true;
  });
  const notes = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    said.notes += text;
    return true;
  });
  return {
    home,
    tools,
    env,
    machine,
    unit: join(home, ".config/systemd/user/agent-gateway.service"),
    plist: join(home, "Library/LaunchAgents/agent-gateway.plist"),
    calls: async () => (await readFile(join(tools, "calls"), "utf8")).trim().split("\n"),
    async run(...words: string[]) {
      said.out = "";
      said.notes = "";
      try {
        return { code: await serviceCommand(words, machine), ...said };
      } finally {
        out.mockClear();
        notes.mockClear();
      }
    },
  };
}

const PLAN = {
  name: "agent-gateway",
  system: false,
  user: undefined,
  command: ['/opt/no de/"x"/node', "/opt/100%/$HOME/agent-gateway.mjs", "start"],
  env: { PATH: "/usr/bin:/bin", GATEWAY_HOME: "/srv/a b/100%\\" },
};

describe("a unit of systemd", () => {
  it("is written, enabled and started, and leaves nothing when it is uninstalled [PKG-13]", async () => {
    const { run, unit, calls, env, tools } = await rig();
    Object.assign(env, { GATEWAY_HOME: "here", MODELS_API_KEY: "k", AGENT_CLI_BIN: "/opt/claude" });
    env.PATH = `/x/node_modules/.bin:${env.PATH}:relative:/bin`;
    const installed = await run("install");
    expect(installed.code).toBe(0);
    expect(installed.out).toContain(
      "agent-gateway runs (process 4321) and is started by itself (systemd, user).",
    );
    expect(installed.notes).toContain("MODELS_API_KEY is not passed on");
    expect(installed.notes).toContain("loginctl enable-linger");
    const text = await readFile(unit, "utf8");
    for (const line of [
      "Restart=on-failure",
      "RestartForceExitStatus=70 75",
      "RestartPreventExitStatus=2 78",
      "WantedBy=default.target",
      `Environment="PATH=${tools}:/usr/bin:/bin"`,
      `Environment="GATEWAY_HOME=${dirname(tools)}/here"`,
      'Environment="AGENT_CLI_BIN=/opt/claude"',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(/^ExecStart="\/.*node" "\/.*\/bin\/agent-gateway\.mjs" "start"$/m);
    expect(text).not.toMatch(/MODELS_API_KEY|^User=/m);
    expect((await stat(unit)).mode & 0o777).toBe(0o644);
    expect(await calls()).toEqual([
      "systemctl --user daemon-reload",
      "systemctl --user enable agent-gateway.service",
      "systemctl --user restart agent-gateway.service",
      "systemctl --user show agent-gateway.service --property=UnitFileState,ActiveState,MainPID",
    ]);

    const status = await run("status", "--json");
    expect(status.code).toBe(0);
    expect(JSON.parse(status.out)).toEqual({
      manager: "systemd",
      scope: "user",
      name: "agent-gateway",
      file: unit,
      installed: true,
      enabled: true,
      running: true,
      pid: 4321,
    });

    const gone = await run("uninstall");
    expect([gone.code, gone.out]).toEqual([0, "agent-gateway is not installed as a user service.\n"]);
    expect(existsSync(unit)).toBe(false);
    expect((await calls()).slice(-2)).toEqual([
      "systemctl --user disable --now agent-gateway.service",
      "systemctl --user daemon-reload",
    ]);
    expect((await run("uninstall")).code).toBe(0);
    expect((await run("status")).code).toBe(1);
  });

  it("that another wrote is left alone, and a refusal of the system leaves nothing behind [PKG-14]", async () => {
    const { run, unit, tools } = await rig();
    await mkdir(dirname(unit), { recursive: true });
    await writeFile(unit, "[Service]\nExecStart=/bin/true\n");
    for (const verb of ["install", "status", "uninstall"]) {
      await expect(run(verb)).rejects.toThrow("was not written by this command");
    }
    expect(await readFile(unit, "utf8")).toBe("[Service]\nExecStart=/bin/true\n");
    await rm(unit);
    await writeFile(join(tools, "fail"), "restart");
    await expect(run("install")).rejects.toThrow(
      "`systemctl --user restart agent-gateway.service` failed: Failed to do that: no bus",
    );
    expect(existsSync(unit)).toBe(false);
    await rm(join(tools, "fail"));
    await run("install");
    const before = await readFile(unit, "utf8");
    await writeFile(join(tools, "fail"), "restart");
    await expect(run("install")).rejects.toThrow("no bus");
    expect(await readFile(unit, "utf8")).toBe(before);
  });

  it("of the machine names its user, who is not root unless that is said [PKG-13]", async () => {
    const { run, machine, env } = await rig();
    await expect(run("install", "--system")).rejects.toThrow("needs root");
    machine.uid = 0;
    await expect(run("install")).rejects.toThrow("--run-as USER");
    await expect(run("install", "--run-as", "a b")).rejects.toThrow("name of a user");
    env.SUDO_USER = "root";
    await expect(run("install")).rejects.toThrow("--run-as USER");
    const place = { system: true, home: "/root", configHome: undefined };
    const manager = createSystemd(machine.tool, place);
    expect(manager.file("gateway")).toBe("/etc/systemd/system/gateway.service");
    const text = manager.render({ ...PLAN, system: true, user: "gateway" });
    expect(text).toMatch(/^User=gateway$/m);
    expect(text).toMatch(/^WantedBy=multi-user\.target$/m);
  });

  it("is one that systemd accepts, whatever the paths hold [PKG-13]", async ({ skip }) => {
    const { tools, machine } = await rig();
    if (spawnSync("systemd-analyze", ["--version"]).status !== 0)
      skip("systemd-analyze is not on this machine");
    const manager = createSystemd(machine.tool, { system: false, home: tools, configHome: undefined });
    const program = join(tools, "100% of $HOME");
    await symlink("/bin/true", program);
    for (const system of [false, true]) {
      const file = join(tools, `check-${system}.service`);
      const plan = {
        ...PLAN,
        system,
        user: system ? "root" : undefined,
        command: [program, '100% "of" $HOME \\ it'],
      };
      await writeFile(file, manager.render(plan));
      const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", file]);
      expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("check-"))).toEqual([]);
      expect(status).toBe(0);
    }
  });
});

describe("an agent of launchd", () => {
  it("is written, loaded and unloaded [PKG-13]", async () => {
    const { run, plist, calls } = await rig({ platform: "darwin" });
    expect(await run("install")).toMatchObject({ code: 0, notes: "" });
    const text = await readFile(plist, "utf8");
    expect(text).toContain("<key>GATEWAY_SUPERVISED</key><string>launchd</string>");
    expect(text).toContain("<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>");
    await run("install");
    await run("uninstall");
    expect(existsSync(plist)).toBe(false);
    const changes = (await calls()).filter((call) => !call.startsWith("launchctl print"));
    const again = ["launchctl enable gui/1000/agent-gateway", `launchctl bootstrap gui/1000 ${plist}`];
    const unload = "launchctl bootout gui/1000/agent-gateway";
    expect(changes).toEqual([...again, unload, ...again, unload]);
  });

  it("hands SIGTERM on, and asks for a new start after 70 and 75, not after 78 [PKG-13]", async () => {
    const { machine, tools } = await rig();
    const manager = createLaunchd(machine.tool, { system: false, home: tools, uid: 1 });
    const words = [
      ...manager.render({ ...PLAN, command: ["PROGRAM"] }).matchAll(/<string>([^<]*)<\/string>/g),
    ];
    const [, shell, flag, script] = words.map(([, text]) =>
      text!
        .replaceAll("&quot;", '"')
        .replaceAll("&gt;", ">")
        .replaceAll("&lt;", "<")
        .replaceAll("&amp;", "&"),
    );
    const end = (command: string) =>
      spawnSync(shell!, [flag!, script!, "agent-gateway", "/bin/sh", "-c", command]).status;
    for (const [code, seen] of [
      [0, 0],
      [1, 1],
      [2, 0],
      [69, 69],
      [70, 70],
      [75, 75],
      [78, 0],
    ] as const) {
      expect(end(`exit ${code}`), String(code)).toBe(seen);
    }
    const program = "trap 'sleep 0.1; echo stopped; exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    const child = spawn(shell!, [flag!, script!, "agent-gateway", "/bin/sh", "-c", program]);
    let output = "";
    child.stdout.on("data", (text) => {
      output += text;
    });
    const code = new Promise((resolve) => child.once("exit", resolve));
    await until(() => output.includes("ready"), "the program to run");
    child.kill("SIGTERM");
    expect(await code).toBe(0);
    expect(output).toContain("stopped");
  });
});

describe("a service", () => {
  it("is not made of a program that npx keeps for a while, nor where nothing runs services [PKG-14]", async () => {
    const { run, machine, env } = await rig();
    const input = { ...PLAN, cwd: "/", node: "/n", env: {} };
    expect(() => planService({ ...input, program: "/home/u/.npm/_npx/1a/agent-gateway.mjs" })).toThrow("npx");
    expect(() => planService({ ...input, program: "/a\nb" })).toThrow("control character");
    env.PATH = "/nowhere";
    await expect(run("install")).rejects.toThrow("neither systemd nor launchd");
    machine.platform = "win32";
    await expect(run("install")).rejects.toThrow("neither systemd nor launchd");
  });

  it("is a command of the program [PKG-13]", async () => {
    const { env, unit } = await rig();
    const status = await runCli(["service", "status", "--json", "--no-system"], { env });
    expect([status.code, status.stderr]).toEqual([1, ""]);
    expect(JSON.parse(status.stdout)).toMatchObject({ file: unit, installed: false, scope: "user" });
    const wrong = await runCli(["service", "restart"], { env });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("install, status, uninstall") });
  });
});
