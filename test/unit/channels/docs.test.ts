import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commands, fieldsOfCommand, flagNames } from "../../../packages/gateway/src/cli/fields.ts";
import { isLocal, LOCAL, nouns, verbsOf } from "../../../packages/gateway/src/cli/help.ts";
import { channelBlocks } from "../../../packages/gateway/src/config/index.ts";

const root = join(import.meta.dirname, "../../..");
const folder = join(root, "docs/channels");
const pages = readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
pages.push({ name: "../../README.md", text: readFileSync(join(root, "README.md"), "utf8") });

/** Commands of the gateway's client in a page, word by word. */
const commandsIn = (text: string) =>
  [...text.matchAll(/npx agent-gateway ([^`\n]+)/g)].map(([, line = ""]) =>
    line.replace(/\s#.*/, "").trim().split(/\s+/),
  );

/** Names of the flags that a command takes, without dashes. */
function flagsOf(noun: string, verb: string): Set<string> {
  const local = isLocal(noun, verb)
    ? LOCAL[noun]!.filter(([usage]) => usage.startsWith(`${noun} ${verb}`))
    : [];
  const names = local.flatMap(([usage]) => [...usage.matchAll(/--([a-z-]+)/g)].map(([, name]) => name!));
  for (const command of commands.filter((one) => one.noun === noun && one.verb === verb)) {
    for (const field of fieldsOfCommand(command)) names.push(...flagNames(command.routes, field));
  }
  return new Set(names);
}

describe.each(pages)("$name", ({ text }) => {
  it("names commands and flags that exist [CH-DOCS-1]", () => {
    for (const [noun = "", verb = "", ...rest] of commandsIn(text)) {
      expect([...Object.keys(LOCAL), ...nouns(), "--help"]).toContain(noun);
      if (noun === "--help" || verbsOf(noun).length === 0) continue;
      expect(verbsOf(noun)).toContain(verb);
      const known = flagsOf(noun, verb);
      for (const word of rest.filter((one) => one.startsWith("--"))) {
        const name = word.slice(2).replace(/=.*/, "");
        expect(
          [name, name.replace(/^no-/, "")].some((one) => known.has(one)),
          `${noun} ${verb} ${word}`,
        ).toBe(true);
      }
    }
  });

  it("links to pages that exist [CH-DOCS-1]", () => {
    const base = text.startsWith("# Agent Gateway") ? root : folder;
    for (const [, target = ""] of text.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue;
      expect(() => readFileSync(join(base, target)), target).not.toThrow();
    }
  });
});

describe.each(Object.entries(channelBlocks))("%s", (channel, block) => {
  const { text = "" } = pages.find(({ name }) => name === `${channel}.md`) ?? {};

  it("has a page that tells of each of its settings [CH-DOCS-1]", () => {
    const { accounts, ...shape } = block.unwrap().shape as Record<string, unknown>;
    const unable = { sigchat: ["progressMs"], cloudchat: ["progressMs"], devicechat: ["progressMs"] };
    for (const key of Object.keys(shape)) {
      if ((unable as Record<string, string[]>)[channel]?.includes(key)) continue;
      expect(text, key).toContain(`\`${key}\``);
    }
    expect(accounts === undefined || text.includes("`devicechat.accounts[]`")).toBe(true);
  });
});

describe("errors", () => {
  /** The sources with strings that go on in the next line made whole. */
  const sources = ["channels", "agents"]
    .flatMap((room) => {
      const path = join(root, "packages/gateway/src", room);
      return readdirSync(path, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => readFileSync(join(path, name), "utf8"));
    })
    .join("\n")
    .replace(/["`]\s*\+\s*["`]/g, "");
  /** Sentences with parts that are put in when they are said. */
  const templates = [...sources.matchAll(/`([^`\n]{8,})`/g)]
    .map(([, text = ""]) => text.split(/\$\{[^}]*\}/).map((part) => RegExp.escape(part)))
    .filter((parts) => parts.length > 1 && parts.join("").length >= 8)
    .map((parts) => new RegExp(`^${parts.join(".*")}$`));
  /** First cells of the tables under "When it fails" and "Errors". */
  const told = pages.flatMap(({ name, text }) => {
    const section = /## (?:When it fails|Errors of every channel)\n(.*?)(?:\n## |$)/s.exec(text)?.[1] ?? "";
    const rows = section.split("\n").filter((line) => line.startsWith("|"));
    return rows.slice(2).map((row) => ({ name, said: row.split("|")[1]!.trim() }));
  });

  it("are named as the gateway says them [CH-DOCS-1]", () => {
    expect(told.length).toBeGreaterThan(50);
    for (const { name, said } of told) {
      // What a provider shows or says by itself, and what a reader sees without a sentence.
      const isOurs = /^[A-Z].*(?:\.|…|:)(?: |$)|^(?:botchat|teamchat)[._]/.test(said);
      if (!isOurs || /^(?:Meta|\w+ answered \d)/.test(said)) continue;
      const [sentence = ""] = said.split(" / ");
      const fragment = sentence.split(/…|\(|\d/, 1)[0]!.replace(/[.:\s]+$/, "");
      const known = sources.includes(fragment) || templates.some((template) => template.test(sentence));
      expect(known || fragment.length < 12, `${name}: ${said}`).toBe(true);
    }
  });
});
