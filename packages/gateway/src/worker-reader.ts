import { serveConnection } from "./db/index.ts";
import { readerJobs } from "./history/jobs.ts";

serveConnection({ jobs: readerJobs });
