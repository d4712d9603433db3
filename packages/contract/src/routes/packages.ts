import * as z from "zod";
import { route } from "../route.ts";
import { changelog, changelogQuery, packageList, packagesQuery, packageUpdate } from "../schemas/packages.ts";

const params = () => z.object({ name: z.string() });

export const listPackages = route({
  method: "GET",
  path: "/api/v1/packages",
  auth: "admin",
  summary: "List the gateway and the agent CLI with their installed and newest versions.",
  tag: "packages",
  query: packagesQuery,
  responses: { 200: packageList },
  errors: ["UPSTREAM_UNAVAILABLE"],
  cli: { noun: "packages", verb: "list" },
});

export const packageChangelog = route({
  method: "GET",
  path: "/api/v1/packages/:name/changelog",
  auth: "admin",
  summary: "Show what changed between two versions of a package.",
  tag: "packages",
  params,
  query: changelogQuery,
  responses: { 200: changelog },
  errors: ["NOT_FOUND", "UPSTREAM_UNAVAILABLE"],
  cli: { noun: "packages", verb: "changelog", args: ["name"] },
});

export const updatePackage = route({
  method: "POST",
  path: "/api/v1/packages/:name/update",
  auth: "admin",
  summary: "Update a package to its newest version; the gateway then restarts.",
  tag: "packages",
  params,
  body: () => z.strictObject({}),
  bodyOptional: true,
  responses: { 200: packageUpdate },
  errors: ["NOT_FOUND", "CONFLICT", "INSTALL_FAILED", "UPSTREAM_UNAVAILABLE"],
  cli: { noun: "packages", verb: "update", args: ["name"] },
});
