import * as z from "zod";
import { route } from "../route.ts";
import {
  cronInput,
  cronJob,
  cronParams,
  cronPatch,
  cronQuery,
  cronRun,
  cronRunQuery,
  cronRunsQuery,
  cronStatus,
} from "../schemas/crons.ts";

const job = () => z.object({ job: cronJob() });
const run = () => z.object({ run: cronRun() });

export const listCrons = route({
  method: "GET",
  path: "/api/v1/crons",
  auth: "key",
  summary: "List the scheduled jobs of the agents that the key reaches.",
  tag: "crons",
  query: cronQuery,
  responses: { 200: () => z.object({ jobs: z.array(cronJob()) }) },
  errors: ["AGENT_NOT_FOUND"],
  cli: { noun: "crons", verb: "list" },
});

export const cronsStatus = route({
  method: "GET",
  path: "/api/v1/crons/status",
  auth: "key",
  summary: "Count the scheduled jobs that the key reaches, and show when the next one runs.",
  tag: "crons",
  responses: { 200: cronStatus },
  cli: { noun: "crons", verb: "status" },
});

export const createCron = route({
  method: "POST",
  path: "/api/v1/crons",
  auth: "write",
  summary: "Schedule a job: a prompt for the agent, or a command (admin only).",
  tag: "crons",
  body: cronInput,
  responses: { 201: job },
  stores: true,
  errors: ["AGENT_NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
  cli: {
    noun: "crons",
    verb: "create",
    args: ["agentId", "name"],
    flags: { every: "schedule", at: "scheduleAt" },
  },
});

export const getCron = route({
  method: "GET",
  path: "/api/v1/crons/:id",
  auth: "key",
  summary: "Show a scheduled job.",
  tag: "crons",
  params: cronParams,
  responses: { 200: job },
  errors: ["NOT_FOUND"],
  cli: { noun: "crons", verb: "get", args: ["id"] },
});

export const updateCron = route({
  method: "PUT",
  path: "/api/v1/crons/:id",
  auth: "write",
  summary: "Change the named fields of a scheduled job.",
  tag: "crons",
  params: cronParams,
  body: cronPatch,
  responses: { 200: job },
  errors: ["NOT_FOUND", "AGENT_NOT_FOUND", "UNAVAILABLE"],
  cli: { noun: "crons", verb: "update", args: ["id"], flags: { every: "schedule", at: "scheduleAt" } },
});

export const deleteCron = route({
  method: "DELETE",
  path: "/api/v1/crons/:id",
  auth: "write",
  summary: "Delete a scheduled job with its runs; a running one is stopped.",
  tag: "crons",
  params: cronParams,
  responses: { 200: () => z.object({ ok: z.literal(true) }) },
  errors: ["NOT_FOUND", "UNAVAILABLE"],
  cli: { noun: "crons", verb: "delete", args: ["id"] },
});

export const runCron = route({
  method: "POST",
  path: "/api/v1/crons/:id/run",
  auth: "write",
  summary: "Run a job now and wait for its end, or answer at once with `wait=false`.",
  tag: "crons",
  params: cronParams,
  query: cronRunQuery,
  responses: { 200: run, 202: run },
  stores: true,
  errors: ["NOT_FOUND", "AGENT_NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
  cli: { noun: "crons", verb: "run", args: ["id"] },
});

export const listCronRuns = route({
  method: "GET",
  path: "/api/v1/crons/:id/runs",
  auth: "key",
  summary: "List the latest runs of a job, newest first.",
  tag: "crons",
  params: cronParams,
  query: cronRunsQuery,
  responses: { 200: () => z.object({ runs: z.array(cronRun()) }) },
  errors: ["NOT_FOUND"],
  cli: { noun: "crons", verb: "runs", args: ["id"] },
});
