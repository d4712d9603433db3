import type { Browser, Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { breakableLine, hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { type Gateway, KEYS, startGateway, until } from "./harness.ts";

/** Much sooner than a page looks by itself, also on a slow machine. */
const AT_ONCE = { timeout: 9_000 };
const FEED = "**/api/v1/events?**";

describe.skipIf(!hasBrowser)(
  "a page that follows the feed (skipped where /usr/bin/chromium is missing)",
  () => {
    let gateway: Gateway;
    let browser: Browser;
    beforeAll(async () => {
      [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
    });
    afterAll(async () => {
      await browser.close();
      await gateway[Symbol.asyncDispose]();
    });

    const create = async (chat: string, name: string) => {
      const body = { chat_id: chat, name };
      const { status } = await gateway.json("POST", "/api/v1/agents/assistant/sessions", { body });
      expect(status).toBe(201);
    };
    const names = (page: Page) => page.locator(".session-name").allTextContents();
    /** Opens a chat, and notes what the page asks for. */
    const open = async (chat: string, options: Parameters<typeof visit>[2] = {}) => {
      const seen = await visit(browser, gateway, {
        ...options,
        login: false,
        hash: `#/chat/assistant/${chat}`,
      });
      const asked: Request[] = [];
      seen.page.on("request", (request) => asked.push(request));
      const feeds = () => asked.filter((request) => request.url().includes("/api/v1/events?"));
      const paths = (path: string) => asked.filter((request) => new URL(request.url()).pathname === path);
      const logIn = async () => {
        await seen.page.getByLabel("Admin key").fill(KEYS.admin);
        await seen.page.getByRole("button", { name: "Log in" }).click();
        await seen.page.getByText("No sessions yet.", { exact: false }).waitFor();
      };
      return { ...seen, feeds, paths, logIn };
    };
    /** The page has heard that the stream begins. */
    const heard = (page: Page) =>
      page.waitForResponse((response) => response.url().includes("/api/v1/events?"));

    it("shows sessions, chats and agents that others make, and who is answering, at once [FOLLOW-1]", async () => {
      await using seen = await open("others");
      const { page, problems } = seen;
      const live = heard(page);
      await seen.logIn();
      await live;
      await create("others", "Made elsewhere");
      await expect.poll(() => names(page), AT_ONCE).toEqual(["Made elsewhere"]);
      await create("another-chat", "Hidden");
      const chats = page.getByRole("combobox", { name: /^Chat/ });
      await expect.poll(() => chats.locator("option").allTextContents(), AT_ONCE).toContain("another-chat");
      const agent = { id: "newcomer", name: "Newcomer" };
      expect((await gateway.json("POST", "/api/v1/agents", { body: agent })).status).toBe(201);
      const agents = page.getByRole("combobox", { name: /^Agent/ });
      await expect
        .poll(() => agents.locator("option").allTextContents(), AT_ONCE)
        .toContain("Newcomer (newcomer)");
      const answer = gateway.send("SLOW 30 100", { chat_id: "others" });
      await page.locator(".session .busy").waitFor(AT_ONCE);
      expect((await answer).status).toBe(200);
      await expect.poll(() => page.locator(".session .busy").count(), AT_ONCE).toBe(0);
      expect(seen.feeds()).toHaveLength(1);
      expect(problems).toEqual([]);
    });

    it("goes on after the last event when the feed breaks off [FOLLOW-2]", async () => {
      await using line = await breakableLine(gateway.url);
      await using seen = await open("broken", { url: line.url });
      const { page } = seen;
      const live = heard(page);
      await seen.logIn();
      await live;
      await create("broken", "First");
      await expect.poll(() => names(page), AT_ONCE).toEqual(["First"]);
      await page.route(FEED, (route) => route.abort());
      line.cut();
      await until(() => seen.feeds().length > 1, "the page to try again");
      await create("broken", "Second");
      await page.unroute(FEED);
      await expect.poll(() => names(page), AT_ONCE).toEqual(["Second", "First"]);
      for (const again of seen.feeds().slice(1)) expect(again.url()).toMatch(/[?&]after=\d+/);
    });

    it("begins anew when the events after its last one are gone [FOLLOW-2]", async () => {
      await using line = await breakableLine(gateway.url);
      await using seen = await open("gone", { url: line.url });
      const { page } = seen;
      const live = heard(page);
      await seen.logIn();
      await live;
      await create("gone", "First");
      await expect.poll(() => names(page), AT_ONCE).toEqual(["First"]);
      await page.route(
        FEED,
        async (route) => {
          await create("gone", "Missed");
          const body = {
            error: "Events after this cursor are no longer kept.",
            code: "EVENTS_GONE",
            oldest: 1,
          };
          await route.fulfill({ status: 410, json: body });
        },
        { times: 1 },
      );
      line.cut();
      await expect.poll(() => names(page), AT_ONCE).toEqual(["Missed", "First"]);
      expect(seen.feeds().at(-1)!.url()).not.toContain("after=");
    });

    it("asks by itself while the gateway refuses the feed [FOLLOW-2]", async () => {
      await using seen = await open("refused");
      const { page } = seen;
      await page.route(FEED, (route) =>
        route.fulfill({ status: 429, json: { error: "Too many open streams.", code: "RATE_LIMITED" } }),
      );
      await seen.logIn();
      // One look at the beginning, and the next ones by time.
      await expect.poll(() => seen.paths("/status").length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3);
      expect(seen.feeds()).toHaveLength(1);
    });

    it("gives its connection up while nobody looks, and catches up afterwards [FOLLOW-3]", async () => {
      await using seen = await open("hidden");
      const { page } = seen;
      const live = heard(page);
      await seen.logIn();
      await live;
      await create("hidden", "First");
      await expect.poll(() => names(page), AT_ONCE).toEqual(["First"]);
      const look = (hidden: boolean) =>
        page.evaluate((value) => {
          Object.defineProperty(document, "hidden", { value, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));
        }, hidden);
      const ended = page.waitForEvent("requestfailed", (request) =>
        request.url().includes("/api/v1/events?"),
      );
      await look(true);
      await ended;
      await create("hidden", "Second");
      await look(false);
      await expect.poll(() => names(page), AT_ONCE).toEqual(["Second", "First"]);
      expect(seen.feeds().at(-1)!.url()).toMatch(/[?&]after=\d+/);
    });
  },
);
