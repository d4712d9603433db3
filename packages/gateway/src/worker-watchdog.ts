import { parentPort, workerData } from "node:worker_threads";
import { runWatchdog, type WatchdogData } from "./lib/watchdog-thread.ts";

runWatchdog(workerData as WatchdogData, parentPort!);
