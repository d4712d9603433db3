import { serveConnection } from "./db/worker-loop.ts";
import { readerJobs } from "./history/reader-jobs.ts";

serveConnection({ jobs: readerJobs });
