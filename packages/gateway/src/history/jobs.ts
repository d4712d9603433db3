import type { Job } from "../db/index.ts";

/** Jobs of the two database threads. */
export const writerJobs: Record<string, Job<never>> = {};
export const readerJobs: Record<string, Job<never>> = {};
