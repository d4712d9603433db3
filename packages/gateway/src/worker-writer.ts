import { writerIdle, writerJobs, writerSetup } from "./history/writer-jobs.ts";
import { serveConnection } from "./store/sqlite/worker-loop.ts";

serveConnection({ jobs: writerJobs, idle: writerIdle, setup: writerSetup });
