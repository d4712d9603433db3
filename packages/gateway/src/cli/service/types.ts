/** The service that runs the gateway. */
export interface ServicePlan {
  /** Also the name of the unit or of the agent. */
  name: string;
  /** Of the whole machine rather than of one user. */
  system: boolean;
  /** Who a service of the machine runs as. */
  user: string | undefined;
  /** Absolute: the Node.js that runs it, the program and its arguments. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}

export interface ServiceState {
  manager: "systemd" | "launchd";
  scope: "user" | "system";
  name: string;
  /** The unit or the property list. */
  file: string;
  installed: boolean;
  /** It starts with the machine, or when its user logs in. */
  enabled: boolean;
  running: boolean;
  pid: number | null;
}

/** What the system has to run services. Every call rejects with a `CliError` that says what the system said. */
export interface ServiceManager {
  readonly manager: ServiceState["manager"];
  /** Where the service of this name is written down. */
  file(name: string): string;
  /** The text of that file. */
  render(plan: ServicePlan): string;
  /** Enables and starts, or starts anew, what the file says. */
  enable(name: string): Promise<void>;
  /** Stops and disables it. */
  disable(name: string): Promise<void>;
  /** After the file has gone. */
  forget(): Promise<void>;
  state(name: string): Promise<Pick<ServiceState, "enabled" | "running" | "pid">>;
}

/** Runs one of the system's programs. */
export type Tool = (
  command: readonly string[],
) => Promise<{ code: number | null; stdout: string; stderr: string }>;

/** First words of every file that this command writes; it changes no other. */
export const WRITTEN_BY = "Written by `agent-gateway service install`";
