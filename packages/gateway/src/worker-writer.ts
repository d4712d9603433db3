import { serveConnection } from "./db/worker-loop.ts";
import { writerIdle, writerJobs, writerSetup } from "./history/writer-jobs.ts";

serveConnection({ jobs: writerJobs, idle: writerIdle, setup: writerSetup });
