import { Worker } from "node:worker_threads";
import { workerEntry } from "./entry.ts";

/** Starts a thread of the database. It waits to be told which file to open. */
export const startThread = (name: "writer" | "reader"): Worker => new Worker(workerEntry(name));
