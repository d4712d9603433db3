import { runAgent } from "./runtimes/builtin/agent/main.ts";

runAgent(process.stdin, process.stdout);
