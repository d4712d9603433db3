// Where the clock, timers and the network may be used directly. Elsewhere they come in from outside, so that tests
// can put others in their place.

const GATEWAY = "packages/gateway/src/";
const PAGE = "packages/dashboard/src/";

/** What is looked for, and where it belongs: folders end in a slash. */
const RULES = [
  {
    name: "Date.now",
    pattern: /\bDate\.now\b|\bnew Date\(\)/g,
    advice: "take the time from the clock that is passed in",
    allowed: ["lib/", "cli/"],
    page: ["components/format.ts", "pages/system/SystemPage.tsx"],
  },
  {
    name: "timers",
    pattern: /(?<![.\w])(?:setTimeout|setInterval)\s*\(|from "(?:node:)?timers(?:\/promises)?"/g,
    advice: "use `clock.after`, `clock.every` or `sleep`",
    // The database's threads and the program of the builtin runtime have no clock passed in, and `main` and `serve` are the process.
    allowed: [
      "lib/",
      "cli/",
      "main.ts",
      "serve.ts",
      "store/sqlite/worker-loop.ts",
      "runtimes/builtin/agent/retry.ts",
      "runtimes/starter/index.ts",
      "history/import-check.ts",
    ],
    page: ["state/"],
  },
  {
    name: "fetch",
    pattern: /(?<![.\w])fetch\s*\(/g,
    advice: "calls to the outside belong to channels, models, generation and the command line",
    allowed: ["channels/", "models/catalogue.ts", "generation/service.ts", "cli/"],
    page: ["api/client.ts"],
  },
];

/** Comments become spaces: what they mention is not used. */
const code = (text) =>
  text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, (comment) => comment.replace(/\S/g, " "));

const isIn = (file, places) =>
  places.some((place) => (place.endsWith("/") ? file.startsWith(place) : file === place));

/**
 * What a file uses that belongs elsewhere, one sentence each.
 * @param {string} path from the root of the repository
 * @param {string} text
 * @returns {string[]}
 */
export function misplacedGlobals(path, text) {
  const root = [GATEWAY, PAGE].find((folder) => path.startsWith(folder));
  if (!root) return [];
  const file = path.slice(root.length);
  return RULES.filter((rule) => !isIn(file, root === PAGE ? rule.page : rule.allowed)).flatMap((rule) =>
    [...code(text).matchAll(rule.pattern)].map((match) => {
      const line = text.slice(0, match.index).split("\n").length;
      return `${path}:${line}: ${rule.name} is not used here; ${rule.advice}`;
    }),
  );
}
