import { join } from "node:path";
import { escapeXml } from "../../lib/xml.ts";
import { CliError } from "../errors.ts";
import { type ServiceManager, type ServicePlan, type Tool, WRITTEN_BY } from "./types.ts";

interface Place {
  system: boolean;
  home: string;
  uid: number;
}

/**
 * launchd starts again what ended with any exit code but 0, so a code that is not to be followed by a new start becomes
 * one. The shell hands SIGTERM on and waits for the end.
 */
const SUPERVISED = `"$@" & child=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM INT
while :; do
  wait "$child"; code=$?
  kill -0 "$child" 2>/dev/null || break
done
case "$code" in 2|78) exit 0 ;; *) exit "$code" ;; esac`;

const text = (value: string) => `<string>${escapeXml(value)}</string>`;
const list = (values: readonly string[]) => `<array>${values.map(text).join("")}</array>`;

function render({ name, user, command, env }: ServicePlan): string {
  const variables = Object.entries({ ...env, GATEWAY_SUPERVISED: "launchd" })
    .map(([variable, value]) => `<key>${escapeXml(variable)}</key>${text(value)}`)
    .join("");
  const entries = [
    `<key>Label</key>${text(name)}`,
    ...(user === undefined ? [] : [`<key>UserName</key>${text(user)}`]),
    `<key>ProgramArguments</key>${list(["/bin/sh", "-c", SUPERVISED, name, ...command])}`,
    `<key>EnvironmentVariables</key><dict>${variables}</dict>`,
    "<key>RunAtLoad</key><true/>",
    "<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>",
    "<key>ExitTimeOut</key><integer>10</integer>",
    "<key>Umask</key><integer>63</integer>",
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${WRITTEN_BY}; running it again replaces this file. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
${entries.map((entry) => `  ${entry}`).join("\n")}
</dict>
</plist>
`;
}

/** Services as agents or daemons of launchd. */
export function createLaunchd(tool: Tool, { system, home, uid }: Place): ServiceManager {
  const folder = system ? "/Library/LaunchDaemons" : join(home, "Library/LaunchAgents");
  const domain = system ? "system" : `gui/${uid}`;
  const file = (name: string) => join(folder, `${name}.plist`);
  const must = async (...args: string[]) => {
    const { code, stderr } = await tool(["launchctl", ...args]);
    if (code === 0) return;
    const said = stderr.trim().split("\n")[0];
    throw new CliError(`\`launchctl ${args.join(" ")}\` failed${said ? `: ${said}` : "."}`);
  };
  const isLoaded = async (name: string) =>
    (await tool(["launchctl", "print", `${domain}/${name}`])).code === 0;
  const unload = async (name: string) => {
    if (await isLoaded(name)) await must("bootout", `${domain}/${name}`);
  };
  return {
    manager: "launchd",
    file,
    render,
    async enable(name) {
      await unload(name);
      await must("enable", `${domain}/${name}`);
      await must("bootstrap", domain, file(name));
    },
    disable: unload,
    forget: () => Promise.resolve(),
    async state(name) {
      const { code, stdout } = await tool(["launchctl", "print", `${domain}/${name}`]);
      const pid = Number(/^[\t ]{0,20}pid = (\d{1,10})/m.exec(stdout)?.[1] ?? 0);
      return { enabled: code === 0, running: pid > 0, pid: pid > 0 ? pid : null };
    },
  };
}
