import { serveConnection } from "./db/worker-loop.ts";
import { readerJobs } from "./history/jobs.ts";

serveConnection({ jobs: readerJobs });
