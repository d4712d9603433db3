// Static checks: format and lint, types, import rules, dead code, licences, file sizes, the Dockerfile.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { misplacedGlobals } from "./globals.mjs";
import { productNode, root } from "./lib.mjs";

const node = productNode();
const module = (path) => join(root, "node_modules", path);
let failures = 0;

function check(name, problem) {
  if (problem) failures++;
  console.log(`${problem ? "FAIL" : "ok  "}  ${name}${problem ? `\n${problem}` : ""}`);
}

function tool(name, args, inspect = () => undefined) {
  const { status, stdout, stderr } = spawnSync(node, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  check(
    name,
    status === 0 ? inspect(stdout + stderr) : `${stdout}${stderr}`.trim() || `exited with ${status}`,
  );
}

tool("format and lint", [module("@biomejs/biome/bin/biome"), "ci", "--colors=off", "."]);
tool("types", [module("typescript-native/bin/tsc"), "-p", "."]);
tool(
  "import rules",
  [
    module("dependency-cruiser/bin/dependency-cruiser.mjs"),
    "--config",
    ".dependency-cruiser.json",
    "packages/contract/src",
    "packages/gateway/src",
    "packages/dashboard/src",
  ],
  (output) => {
    const seen = Number(/\((\d+) modules/.exec(output)?.[1] ?? 0);
    return seen > 50 ? undefined : `it saw only ${seen} modules:\n${output}`;
  },
);
tool("dead code", [module("knip/bin/knip.js"), "--no-progress"]);

const ALLOWED =
  /^(MIT|MIT-0|ISC|BSD-2-Clause|BSD-3-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0|CC0-1\.0|CC-BY-4\.0|Python-2\.0|Unlicense|MPL-2\.0)$/;
/** A dependency of the optional `baileys`, which nothing else loads and the bundle leaves out. */
const WITH_BAILEYS = /^node_modules\/(libsignal|@img\/sharp-(libvips-)?[a-z0-9-]+)$/;
function licences() {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const bad = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!path.includes("node_modules/") || entry.link) continue;
    if ((entry.optional || entry.devOptional) && WITH_BAILEYS.test(path)) continue;
    const manifest = join(root, path, "package.json");
    const text =
      entry.license ??
      (existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).license : undefined);
    if (text === undefined && !existsSync(manifest) && entry.optional) continue;
    const parts = String(text?.type ?? text ?? "none")
      .replace(/[()]/g, "")
      .split(/ OR /);
    if (!parts.some((part) => part.split(/ AND /).every((name) => ALLOWED.test(name.trim()))))
      bad.push(`${path}: ${text}`);
  }
  return bad.length > 0 ? bad.join("\n") : undefined;
}
check("licences", licences());

function sources(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|mjs|css)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/node_modules|\/dist/.test(path));
}
const misplaced = sources("packages").flatMap((path) =>
  misplacedGlobals(relative(root, path), readFileSync(path, "utf8")),
);
check("clock, timers and network", misplaced.length > 0 ? misplaced.join("\n") : undefined);
const long = ["packages", "test", "bench", "scripts"]
  .flatMap(sources)
  .map((path) => [relative(root, path), readFileSync(path, "utf8").split("\n").length - 1])
  .filter(([, lines]) => lines > 400);
check(
  "no file past 400 lines",
  long.length > 0 ? long.map(([path, lines]) => `${path}: ${lines}`).join("\n") : undefined,
);

function dockerfile() {
  const text = readFileSync(join(root, "Dockerfile"), "utf8").replace(/\\\n/g, " ");
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const problems = [];
  const known =
    /^(FROM|RUN|COPY|WORKDIR|ENV|ARG|USER|EXPOSE|VOLUME|ENTRYPOINT|CMD|HEALTHCHECK|LABEL|STOPSIGNAL)\s/;
  for (const line of lines) if (!known.test(line)) problems.push(`not an instruction: ${line}`);
  const images = lines.filter((line) => line.startsWith("FROM "));
  if (images.length === 0 || !/^(FROM|ARG) /.test(lines[0] ?? ""))
    problems.push("the first instruction must be FROM or ARG");
  for (const line of images)
    if (!/^FROM \S+(:[^\s@]+|@sha256:\S+)( AS \S+)?$/.test(line) || /:latest/.test(line))
      problems.push(`image not pinned: ${line}`);
  const user = lines.findLast((line) => line.startsWith("USER "));
  if (!user || /USER (root|0)\b/.test(user)) problems.push("must not run as root");
  for (const line of lines.filter((entry) => /^(CMD|ENTRYPOINT) /.test(entry)))
    if (!/^\w+ \[/.test(line)) problems.push(`use the exec form: ${line}`);
  for (const line of lines.filter((entry) => entry.startsWith("COPY ") && !entry.includes("--from="))) {
    for (const source of line
      .split(/\s+/)
      .slice(1, -1)
      .filter((word) => !word.startsWith("--"))) {
      if (!existsSync(join(root, source))) problems.push(`copies ${source}, which does not exist`);
    }
  }
  return problems.length > 0 ? problems.join("\n") : undefined;
}
check("Dockerfile", dockerfile());
process.exitCode = failures === 0 ? 0 : 1;
