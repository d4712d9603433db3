import { serveConnection } from "./db/worker-loop.ts";
import { writerIdle, writerJobs } from "./history/jobs.ts";

serveConnection({ jobs: writerJobs, idle: writerIdle });
