import * as z from "zod";
import { lazy } from "../lazy.ts";

/** What can be updated: the gateway itself, and the agent CLI that its agents run. */
export const PACKAGES = ["gateway", "agent-cli"] as const;
export type PackageName = (typeof PACKAGES)[number];

const name = () => z.enum(PACKAGES);

export const packageRecord = lazy(() =>
  z.object({
    package: name(),
    current: z.string().nullable().describe("The version that is installed; null if none is."),
    latest: z.string().describe("The newest version in the registry."),
    hasUpdate: z.boolean(),
    running: z.string().optional().describe("The version that runs, if it is not the installed one."),
  }),
);
export type PackageRecord = z.output<ReturnType<typeof packageRecord>>;

export const packageList = lazy(() => z.object({ packages: z.array(packageRecord()) }));
export const packagesQuery = lazy(() =>
  z.object({
    refresh: z
      .enum(["true", "false"], { error: "must be true or false" })
      .optional()
      .transform((text) => text === "true")
      .describe("Ask the registry again in place of showing what it said in the last five minutes."),
  }),
);

export const changelogQuery = lazy(() =>
  z.object({
    from: z.string().max(256).optional().describe("Only later versions; the installed one if not given."),
    to: z.string().max(256).optional().describe("Up to this version; the newest one if not given."),
  }),
);
export const changelogEntry = lazy(() =>
  z.object({
    version: z.string(),
    date: z.string().nullable().describe("YYYY-MM-DD, if the changelog names it."),
    notes: z.string().describe("Markdown."),
  }),
);
export const changelog = lazy(() =>
  z.object({
    package: name(),
    from: z.string().nullable(),
    to: z.string(),
    entries: z.array(changelogEntry()),
  }),
);
export type Changelog = z.output<ReturnType<typeof changelog>>;

export const packageUpdate = lazy(() =>
  z.object({
    package: name(),
    from: z.string().nullable(),
    to: z.string(),
    updated: z.boolean().describe("False if there was nothing to update."),
    warning: z.string().nullable().describe("What happens to the running gateway next."),
  }),
);
export type PackageUpdate = z.output<ReturnType<typeof packageUpdate>>;
