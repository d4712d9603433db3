import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { cutOff } from "./fixtures/layout.ts";
import { type Gateway, startGateway } from "./harness.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 320, height: 640 };

describe.skipIf(!hasBrowser)("the dashboard's pages (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  beforeAll(async () => {
    [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
    await gateway.send("SAY hello");
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });

  const links = (page: Page) => page.getByRole("navigation", { name: "Pages" }).getByRole("link");
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

  const scripts = (page: Page) =>
    page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .map(({ name }) => name)
        .join(" "),
    );
  /** What a gateway tells that has run for longer than a day. */
  const dayOf = (steps: number) => {
    const all = <Value>(value: Value) => Array.from({ length: steps }, () => value);
    const counts = { received: all(2), replies: all(1), turns: all(1), failed: all(0) };
    const from = Date.now() + 3_600_000;
    return { from, stepMs: 300_000, ...counts, p50Ms: all(900), p95Ms: all(2000), memory: all(1e8) };
  };

  it("passes axe on every page, wide and narrow, light and dark, and cuts nothing off [DASH-AXE-1]", async () => {
    await using seen = await visit(browser, gateway, { viewport: WIDE });
    const { page, problems } = seen;
    await heading(page, "Overview").waitFor();
    await page.evaluate(await readFile(AXE, "utf8"));
    const names = await links(page).allTextContents();
    expect(names.length).toBeGreaterThan(5);
    const addresses = await links(page).evaluateAll((all) => all.map((one) => one.getAttribute("href")!));
    addresses.push("#/agents/assistant");
    const found: string[] = [];
    for (const viewport of [WIDE, PHONE]) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const address of addresses) {
          await page.evaluate((hash) => {
            location.hash = hash;
          }, address);
          await page.getByText("Loading", { exact: false }).first().waitFor({ state: "detached" });
          await page.locator("main h1").first().waitFor();
          const where = `${address}, ${viewport.width} px, ${colorScheme}`;
          const { violations, passes } = await page.evaluate(() =>
            (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
              resultTypes: ["violations"],
            }),
          );
          expect(passes.length, where).toBeGreaterThan(10);
          for (const { id, impact, nodes } of violations) {
            if (impact !== "serious" && impact !== "critical") continue;
            found.push(`${where}: ${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
          }
          for (const part of await cutOff(page)) found.push(`${where}: cut off: ${part}`);
        }
      }
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  }, 90_000);

  it("has a column of links where there is room, and a drawer elsewhere, for the keyboard too [DASH-NAV-1]", async () => {
    await using seen = await visit(browser, gateway, { viewport: WIDE });
    const { page, problems } = seen;
    await heading(page, "Overview").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("MAIN");
    await goTo(page, "Usage");
    await heading(page, "Usage").waitFor();
    expect(await page.locator(".nav-link[aria-current=page]").textContent()).toBe("Usage");

    await page.setViewportSize(PHONE);
    const opener = page.getByRole("button", { name: "Pages", exact: true });
    await opener.focus();
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("dialog", { name: "Pages" });
    await drawer.waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    expect(await focused()).toBe("Usage");
    for (let tabs = 0; tabs < 30; tabs++) {
      await page.keyboard.press("Tab");
      const outside = await page.evaluate(
        () => document.activeElement !== document.body && !document.activeElement?.closest("dialog"),
      );
      expect(outside, "the keyboard left the open drawer").toBe(false);
    }
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Pages");
    await opener.click();
    await page.mouse.click(310, 300);
    await drawer.waitFor({ state: "detached" });
    await goTo(page, "System");
    await heading(page, "System").waitFor();
    await drawer.waitFor({ state: "detached" });
    expect(problems).toEqual([]);
  });

  it("finds pages at old addresses, loads each when it is looked at, and says when it cannot [DASH-NAV-2] [DASH-NAV-3]", async () => {
    await using seen = await visit(browser, gateway, { hash: "#/status" });
    const { page } = seen;
    await heading(page, "System").waitFor();
    expect(await scripts(page)).not.toContain("UsagePage");
    const module = "**/assets/UsagePage-*.js";
    await page.route(module, (route) => route.abort());
    await goTo(page, "Usage");
    await page.getByRole("alert").getByText("This page could not be loaded.", { exact: false }).waitFor();
    await page.unroute(module);
    await page.getByRole("button", { name: "Reload" }).click();
    await heading(page, "Usage").waitFor();
    expect(await scripts(page)).toContain("UsagePage");
    await page.evaluate(() => {
      location.hash = "#/no-such-page";
    });
    await heading(page, "Overview").waitFor();
  });

  it("tells what runs, what waits and what happened, and what a fresh gateway needs next [DASH-OVER-1] [DASH-OVER-2]", async () => {
    await using fresh = await startGateway({ agent: { runtime: { type: "starter" } } });
    await using seen = await visit(browser, fresh, { viewport: WIDE });
    const { page, problems } = seen;
    const steps = page.getByRole("region", { name: "Next steps" });
    await steps.waitFor();
    expect(await steps.locator(".done h3").allTextContents()).toEqual(["Connect a modeldone"]);
    const fact = (name: string) =>
      page.locator(".fact", { has: page.getByText(name, { exact: true }) }).locator("dd");
    await expect.poll(() => fact("Turns").textContent()).toBe("0");
    expect(await fact("Nearly all turns within").textContent()).toBe("none yet");
    await page.getByText("Nothing waits for you.").waitFor();
    await page.getByText("No agent is answering.").waitFor();
    await page.getByText("The plots begin", { exact: false }).waitFor();

    const answer = fresh.json("POST", "/api/v1/agents/second/messages", {
      body: { message: "SLOW 40 50", chat_id: "me" },
    });
    const running = page.getByRole("region", { name: "Running now" });
    await running.getByRole("link", { name: "Read along" }).waitFor();
    expect((await answer).status).toBe(200);
    await running.getByText("No agent is answering.").waitFor();
    await expect.poll(() => fact("Turns").textContent()).toBe("1");
    expect(await fact("Messages received").textContent()).toBe("1");
    await expect
      .poll(() => steps.locator(".done h3").allTextContents())
      .toEqual(["Connect a modeldone", "Say hellodone"]);
    await steps.getByRole("button", { name: "Hide the next steps" }).click();
    await steps.waitFor({ state: "detached" });

    await page.route("**/api/v1/agents/*/channels/deliveries?*", (route) =>
      route.fulfill({ json: { deliveries: [{ sendable: true }, { sendable: false }, { sendable: true }] } }),
    );
    const incident = { id: "inc_1", chatId: "api-me", detectedAt: Date.now(), closedAt: null };
    await page.route("**/incidents", (route) =>
      route.fulfill({
        json: {
          incidents: [
            { ...incident, allowed: ["restart"] },
            { ...incident, id: "inc_2", allowed: [], closedAt: 5 },
          ],
        },
      }),
    );
    await page.route("**/botchat/pending*", (route) =>
      route.fulfill({
        json: {
          pending: [
            { kind: "dm", senderId: "100", senderName: "Ann", code: "ABC234", createdAt: 1, expiresAt: 2 },
          ],
        },
      }),
    );
    await page.route(/\/status$/, async (route) => {
      const reply = await route.fetch();
      const body = (await reply.json()) as {
        agents: { problem: string | null; channels: object; sessions: object[] }[];
      };
      body.agents[0]!.sessions = [
        { chatId: "api-me", sessionId: "s", source: "api", busy: true, pid: 1, model: null, lastActivity: 1 },
      ];
      body.agents[0]!.channels = { botchat: {} };
      body.agents[1]!.problem = "Its program is missing.";
      await route.fulfill({ json: body });
    });
    expect(await scripts(page), "no plot, no library").not.toContain("/draw-");
    await page.route("**/status?include=activity", (route) =>
      route.fulfill({ json: { activity: dayOf(288) } }),
    );
    await page.reload();
    await expect.poll(() => page.locator(".chart canvas").count()).toBe(3);
    expect(await scripts(page)).toContain("/draw-");
    await page.getByRole("img", { name: "Messages and turns: 576 messages received, 288 turns" }).waitFor();
    await page.getByRole("img", { name: "How long turns took: nearly all within 2.0 s" }).waitFor();
    await page.getByRole("heading", { name: "Last 24 hours" }).waitFor();
    await page.getByText("By the hour, as a table").click();
    expect(await page.getByRole("region", { name: "By the hour" }).getByRole("row").count()).toBe(25);
    const waiting = page.getByRole("region", { name: "Waiting for you" });
    await waiting.getByText("2 replies of assistant may not have arrived").waitFor();
    await waiting.getByText("assistant is stuck").waitFor();
    await waiting.getByText("1 person waits to be let in to assistant").waitFor();
    await waiting.getByText("Ann", { exact: true }).waitFor();
    await waiting.getByText("second cannot start").waitFor();
    expect(await waiting.getByRole("listitem").count()).toBe(4);
    await waiting.getByRole("link", { name: /^Look:/ }).click();
    await heading(page, "Channels").waitFor();
    expect(problems).toEqual([]);
  });

  it("creates an agent, changes it with its greeting, and deletes it [DASH-AGENT-1]", async () => {
    await using seen = await visit(browser, gateway, { hash: "#/agents", viewport: WIDE });
    const { page, problems } = seen;
    await page.getByText("New agent").first().click();
    const create = page.getByRole("form", { name: "New agent" });
    await create.getByLabel("Id,", { exact: false }).fill("Not an id");
    await create.getByRole("button", { name: "Create" }).click();
    await create.getByRole("alert").getByText("must be a-z", { exact: false }).waitFor();
    await create.getByLabel("Id,", { exact: false }).fill("helper");
    await create.getByLabel("Name,", { exact: false }).fill("Helper");
    await create.getByRole("button", { name: "Create" }).click();
    await heading(page, "Helper (helper)").waitFor();

    const show = async () => (await gateway.json("GET", "/api/v1/agents/helper")).body.agent;
    const about = page.getByRole("form", { name: "Name and model" });
    await about.getByLabel("Name", { exact: true }).fill("Aide");
    await about.getByRole("button", { name: "Save" }).click();
    await heading(page, "Aide (helper)").waitFor();
    const runs = page.getByRole("form", { name: "What runs it" });
    await runs.getByLabel("Runs on").selectOption("starter");
    await runs.getByRole("button", { name: "Save" }).click();
    await runs.getByText("Saved.").waitFor();
    const tools = page.getByRole("form", { name: "Tools" });
    await tools.getByLabel("Only these:").check();
    await tools.getByLabel("Names of tools", { exact: false }).fill("Read\n Bash(git *) \n\n");
    await tools.getByRole("button", { name: "Save" }).click();
    await tools.getByText("Saved.").waitFor();
    const greeting = page.getByRole("form", { name: "Greeting" });
    await greeting.getByLabel("What the agent is told").fill("Say hello.");
    await greeting.getByRole("button", { name: "Save" }).click();
    await greeting.getByText("Saved.").waitFor();
    expect(await show()).toMatchObject({
      name: "Aide",
      runtime: { type: "starter" },
      allow_tools: ["Read", "Bash(git *)"],
    });
    expect((await gateway.json("GET", "/api/v1/agents/helper/greeting")).body.text).toBe("Say hello.");

    await page.getByRole("button", { name: "Delete this agent…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await heading(page, "Agents").waitFor();
    await page
      .getByRole("list", { name: "Agents" })
      .getByText("Aide (helper)")
      .waitFor({ state: "detached" });
    expect((await gateway.json("GET", "/api/v1/agents/helper")).status).toBe(404);
    const sessions = page.getByRole("region", { name: "Sessions of all agents" });
    await sessions.getByRole("link", { name: "SAY hello" }).first().waitFor();
    expect(problems).toEqual([]);
  });
});
