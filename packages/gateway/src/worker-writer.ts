import { serveConnection } from "./db/index.ts";
import { writerJobs } from "./history/jobs.ts";

serveConnection({ jobs: writerJobs });
