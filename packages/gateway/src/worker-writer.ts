import { readCheckedImport } from "./history/lines.ts";
import { writerJobs } from "./store/sqlite/jobs/index.ts";
import { indexStep, prepareSearch } from "./store/sqlite/search/indexing.ts";
import { serveConnection } from "./store/sqlite/worker-loop.ts";

serveConnection({ jobs: writerJobs(readCheckedImport), idle: indexStep, setup: prepareSearch });
