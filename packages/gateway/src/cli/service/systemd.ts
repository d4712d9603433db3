import { join } from "node:path";
import { CliError } from "../errors.ts";
import { type ServiceManager, type ServicePlan, type Tool, WRITTEN_BY } from "./types.ts";

interface Place {
  system: boolean;
  home: string;
  configHome: string | undefined;
}

/** https://www.freedesktop.org/software/systemd/man/systemd.syntax.html#Quoting */
const quoted = (text: string) => `"${text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%")}"`;

/** In arguments, but not in the program's path, `$` begins a variable. */
const commandLine = ([program, ...args]: readonly string[]) =>
  [quoted(program!), ...args.map((text) => quoted(text).replaceAll("$", "$$$$"))].join(" ");

function render({ name, system, user, command, env }: ServicePlan): string {
  const lines = [
    `# ${WRITTEN_BY}; running it again replaces this file.`,
    "[Unit]",
    "Description=Agent Gateway",
    ...(system ? ["Wants=network-online.target", "After=network-online.target"] : []),
    "",
    "[Service]",
    ...(user !== undefined ? [`User=${user}`] : []),
    ...Object.entries(env).map(([variable, value]) => `Environment=${quoted(`${variable}=${value}`)}`),
    `ExecStart=${commandLine(command)}`,
    `SyslogIdentifier=${name}`,
    "Restart=on-failure",
    "RestartSec=2",
    "# 70: it could not go on. 75: it was updated.",
    "RestartForceExitStatus=70 75",
    "# 2: wrong arguments. 78: the configuration has to be repaired first.",
    "RestartPreventExitStatus=2 78",
    "TimeoutStopSec=10",
    "UMask=0077",
    "NoNewPrivileges=true",
    "",
    "[Install]",
    `WantedBy=${system ? "multi-user.target" : "default.target"}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Services as units of systemd, of the machine or of one user. */
export function createSystemd(tool: Tool, { system, home, configHome }: Place): ServiceManager {
  const folder = system ? "/etc/systemd/system" : join(configHome || join(home, ".config"), "systemd/user");
  const ask = (...args: string[]) => tool(["systemctl", ...(system ? [] : ["--user"]), ...args]);
  const must = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await ask(...args);
    if (code === 0) return stdout;
    const said = stderr.trim().split("\n")[0];
    throw new CliError(
      `\`systemctl ${[...(system ? [] : ["--user"]), ...args].join(" ")}\` failed${said ? `: ${said}` : "."}`,
    );
  };
  const unit = (name: string) => `${name}.service`;
  return {
    manager: "systemd",
    file: (name) => join(folder, unit(name)),
    render,
    async enable(name) {
      await must("daemon-reload");
      await must("enable", unit(name));
      await must("restart", unit(name));
    },
    async disable(name) {
      await must("disable", "--now", unit(name));
    },
    async forget() {
      await must("daemon-reload");
    },
    async state(name) {
      const stdout = await must("show", unit(name), "--property=UnitFileState,ActiveState,MainPID");
      const facts = new Map(stdout.split("\n").map((line) => line.trim().split("=", 2) as [string, string]));
      const pid = Number(facts.get("MainPID") ?? 0);
      return {
        enabled: facts.get("UnitFileState") === "enabled",
        running: facts.get("ActiveState") === "active",
        pid: Number.isInteger(pid) && pid > 0 ? pid : null,
      };
    },
  };
}
