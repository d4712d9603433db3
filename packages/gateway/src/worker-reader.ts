import { formatExport } from "./history/format.ts";
import { readerJobs } from "./store/sqlite/jobs/index.ts";
import { serveConnection } from "./store/sqlite/worker-loop.ts";

serveConnection({
  jobs: readerJobs({
    format: formatExport,
    // The check brings the validation library, so it is loaded by the first one.
    checkImport: async (context, args) =>
      (await import("./history/import-check.ts")).checkImport(context, args),
  }),
});
