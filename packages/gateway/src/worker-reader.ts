import { readerJobs } from "./history/reader-jobs.ts";
import { serveConnection } from "./store/sqlite/worker-loop.ts";

serveConnection({ jobs: readerJobs });
