import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, type Visit, visit } from "./fixtures/browser.ts";
import { type Gateway, put, root, startGateway, until } from "./harness.ts";

const fakeAcpAgent = join(root, "test/fixtures/fake-acp-agent.mjs");

describe.skipIf(!hasBrowser)("a turn on the dashboard (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  let seen: Visit;
  let page: Page;
  let chats = 0;

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    chats += 1;
    seen = await visit(browser, gateway, { hash: `#/chat/assistant/turn-${chats}` });
    page = seen.page;
    await box().waitFor();
  });
  afterEach(async () => {
    const { problems } = seen;
    await seen[Symbol.asyncDispose]();
    expect(problems, "errors of the page and breaches of its policy").toEqual([]);
  });

  const box = () => page.getByRole("textbox", { name: /^Message to/ });
  const answers = () => page.locator(".message.assistant:not(.live)");
  const send = async (text: string) => {
    await box().fill(text);
    await page.getByRole("button", { name: "Send", exact: true }).click();
  };
  /** The kinds of the pieces of an answer, in the order in which they stand. */
  const pieces = () =>
    answers()
      .last()
      .locator(".steps > *")
      .evaluateAll((parts) => parts.map((part) => (part.matches("details") ? "step" : "text")));

  it("shows tools within the text, folded, with input and result, also after a reload [PAGE-3]", async () => {
    await send("TOOL Bash");
    await answers().first().waitFor();
    for (const again of [false, true]) {
      if (again) {
        await page.reload();
        await answers().first().waitFor();
      }
      expect(await pieces()).toEqual(["text", "step", "text"]);
      const step = answers().first().locator("details");
      expect(await step.locator("summary").textContent()).toMatch(/Bash.*done/);
      expect(await step.getByText("ran").isVisible()).toBe(false);
      await step.locator("summary").focus();
      await page.keyboard.press("Enter");
      await step.getByText("ran", { exact: true }).waitFor();
      expect(await step.locator("pre").first().textContent()).toBe('{\n  "command": "true"\n}');
    }
  });

  it("shows what the agent thought, folded, before its text [PAGE-3]", async () => {
    await send("THINK");
    await answers().first().waitFor();
    expect((await pieces()).slice(0, 2)).toEqual(["step", "text"]);
    await answers().first().getByText("Thinking", { exact: true }).click();
    await until(async () => answers().first().locator(".step-body").isVisible(), "the thought");
  });

  it("keeps the error of a failed turn below its question, and asks it again [PAGE-4]", async () => {
    await send("ERR Out of credit.");
    const failed = page.locator(".turn-error");
    await failed.getByText("Out of credit", { exact: false }).waitFor();
    await page.reload();
    await failed.getByText("Out of credit", { exact: false }).waitFor();
    await failed.getByRole("button", { name: "Try again" }).click();
    await until(async () => (await failed.count()) === 2, "the second failure");
    expect(await page.locator(".message.user .plain-text").allTextContents()).toEqual(
      Array(2).fill("ERR Out of credit."),
    );
    // Only the latest turn can be tried again.
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(1);
  });

  it("says that the model is not answering while the agent asks it again [PAGE-4]", async () => {
    await send("RETRY 2 529 1500");
    await page.getByText(/The model is not answering \(HTTP 529\); retry 1 of \d+\./).waitFor();
    await page.getByText(/retry 2 of \d+\./).waitFor();
    await answers().getByText("Finally.").waitFor();
    expect(await page.getByText("is not answering").count()).toBe(0);
  });

  it("offers a file that the agent shared for download, with its name and size [PAGE-5]", async () => {
    await put(gateway.home, "agents/assistant/workspace/report.csv", "a,b\n".repeat(500));
    await send(`SHARE ${join(gateway.home, "agents/assistant/workspace/report.csv")}`);
    const link = answers()
      .first()
      .getByRole("link", { name: /report\.csv/ });
    await link.waitFor();
    expect(await link.textContent()).toContain("2.0 KB");
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    expect(download.suggestedFilename()).toBe("report.csv");
  });

  it("stays usable with an answer of 8 MB in one line, and with hostile ones [PAGE-1]", async () => {
    // The longest time in which the page answered nothing, from here on.
    await page.evaluate(() => {
      const state = { longestMs: 0 };
      let last = performance.now();
      setInterval(() => {
        const now = performance.now();
        state.longestMs = Math.max(state.longestMs, now - last);
        last = now;
      }, 20);
      Object.assign(globalThis, { state });
    });
    for (const text of ["BIG 8000000", `SAY # a${" ".repeat(4000)}#x`, `SAY ${"*a _b ~~c [".repeat(800)}`]) {
      const before = await answers().count();
      await send(text);
      await answers().nth(before).waitFor();
    }
    await box().fill("still here");
    expect(await box().inputValue()).toBe("still here");
    const longestMs = await page.evaluate(
      () => (globalThis as unknown as { state: { longestMs: number } }).state.longestMs,
    );
    expect(longestMs, "ms in which the page answered nothing").toBeLessThan(3000);
  });

  it("shows what keeps an agent from starting, in its chat and on the status page [PAGE-6]", async () => {
    const { body } = await gateway.json("GET", "/api/v1/agents");
    const [first, ...others] = body.agents as Record<string, unknown>[];
    const problem =
      "claude is not logged in. Run `claude` as the user gateway and log in, or set ANTHROPIC_API_KEY.";
    const warnings = ["This program cannot be held to allowTools."];
    const lastError = { message: "Please run /login", at: Date.now() };
    const runtime_status = {
      type: "agent-cli",
      program: "claude",
      version: "2.1.3",
      login: "missing",
      problem,
      warnings,
      lastError,
    };
    const agents = [{ ...first, runtime_status }, ...others];
    await page.route("**/api/v1/agents", (route) => route.fulfill({ json: { agents } }));
    await page.route("**/health", (route) => route.fulfill({ json: { status: "ok", disk: "low" } }));
    await page.reload();
    await page.getByText("Runs on claude 2.1.3").waitFor();
    await page.getByRole("alert").getByText(problem).waitFor();
    await page.getByText(warnings[0] as string).waitFor();
    await page.getByText("disk is almost full", { exact: false }).waitFor();
    await goTo(page, "System");
    await page.getByRole("cell", { name: "cannot start" }).waitFor();
    const trouble = page.getByRole("region", { name: "Problems of assistant" });
    await trouble.getByText(problem).waitFor();
    await trouble.getByText("Please run /login", { exact: false }).waitFor();
  });

  it("offers the models that the session's agent has, instead of the gateway's [PAGE-8]", async () => {
    await using own = await startGateway({
      gateway: { models: [{ id: "catalogue-1", name: "C", alias: "c", contextWindow: 1000, multiplier: 1 }] },
      agent: {
        runtime: { type: "acp", command: [process.execPath, fakeAcpAgent] },
        env: { FAKE_ACP: JSON.stringify({ models: "option" }) },
      },
    });
    await using other = await visit(browser, own, { hash: "#/chat/assistant/models" });
    const picker = other.page.getByLabel("Model of this session");
    await other.page.getByRole("textbox", { name: /^Message to/ }).fill("SAY hello");
    expect(await picker.count(), "before the session, nothing is known").toBe(0);
    await other.page.getByRole("button", { name: "Send", exact: true }).click();
    await picker.waitFor();
    const values = () =>
      picker.locator("option").evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
    await until(async () => (await values()).join() === "small,large", "the agent's own models");
    await picker.selectOption("large");
    await other.page.getByText("This session now uses large.").waitFor();
  });
});
