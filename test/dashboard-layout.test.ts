import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, logIn, visit } from "./fixtures/browser.ts";
import { cutOff, TEXTS } from "./fixtures/layout.ts";
import { startTokenJudge } from "./fixtures/token-judge.ts";
import { type Gateway, KEYS, startGateway } from "./harness.ts";

const LONG = "a_word_that_cannot_be_broken_anywhere_and_is_longer_than_any_telephone_is_wide";
const ANSWER = `SAY ${LONG} \`${LONG}\` https://example.org/${LONG} **${LONG}** | and ค้นหาข้อความที่ยาวมากจนเกินความกว้างของหน้าจอโทรศัพท์`;

describe.skipIf(!hasBrowser)("the dashboard's layout (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let judge: Awaited<ReturnType<typeof startTokenJudge>>;
  let browser: Browser;

  beforeAll(async () => {
    judge = await startTokenJudge();
    [gateway, browser] = await Promise.all([
      startGateway({
        gateway: {
          models: [{ id: LONG, name: LONG, alias: "long", contextWindow: 200_000, multiplier: 1 }],
        },
        agent: {
          name: "An agent with a name that is rather long",
          botchat: { botToken: "good-bot", apiBaseUrl: judge.url },
          sigchat: { channelAccessToken: "good-line", channelSecret: "s", apiBaseUrl: judge.url },
          devicechat: { waWebSocketUrl: "ws://127.0.0.1:1" },
        },
      }),
      launchBrowser(),
    ]);
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
    await judge[Symbol.asyncDispose]();
  });

  /** Answers as a gateway in trouble does: everything that the page can tell of it, in long words. */
  async function trouble(page: Page): Promise<void> {
    const { body } = await gateway.json("GET", "/api/v1/agents");
    const [first, ...others] = body.agents as { runtime_status: object }[];
    const lastError = { message: LONG, at: Date.now() };
    const status = {
      ...first?.runtime_status,
      program: LONG,
      problem: `${LONG} ${LONG}`,
      warnings: [LONG],
      lastError,
    };
    const agents = [{ ...first, runtime_status: status }, ...others];
    const delivery = {
      id: 7,
      channel: "botchat",
      account: "",
      chatId: LONG,
      state: "unknown",
      purpose: "answer",
    };
    const deliveries = [
      {
        ...delivery,
        text: `${LONG} ${LONG}`,
        createdAt: Date.now(),
        settledAt: null,
        reason: LONG,
        sendable: true,
      },
    ];
    await page.route("**/api/v1/agents", (route) => route.fulfill({ json: { agents } }));
    await page.route("**/health", (route) => route.fulfill({ json: { status: "ok", disk: "low" } }));
    await page.route("**/channels/deliveries*", (route) => route.fulfill({ json: { deliveries } }));
  }

  /** Goes through every page, menu and dialog, and calls `look` at each. */
  async function walk(page: Page, look: (what: string) => Promise<void>): Promise<void> {
    await page.getByRole("textbox", { name: /^Message to/ }).waitFor();
    await look("an empty conversation");
    await page.getByRole("textbox", { name: /^Message to/ }).fill(ANSWER);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".message.assistant:not(.live)").first().waitFor();
    await look("a conversation");
    for (const [nth, text] of [`TOOL ${LONG}`, "THINK", `ERR ${LONG}`].entries()) {
      await page.getByRole("textbox", { name: /^Message to/ }).fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await page
        .locator(".message.assistant:not(.live)")
        .nth(nth + 1)
        .waitFor();
    }
    for (const summary of await page.locator(".step summary").all()) await summary.click();
    await look("what the agent did");
    await page.getByRole("textbox", { name: /^Message to/ }).fill("/");
    await page.getByRole("listbox", { name: "Commands" }).waitFor();
    await look("the commands");
    await page.getByRole("textbox", { name: /^Message to/ }).fill("/nonsense");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".notices .notice").first().waitFor();
    await look("a notice");
    await page.locator(".notices").getByRole("button", { name: "Dismiss" }).click();
    const action = async (name: string) => {
      await page.getByRole("button", { name: "Actions for this session" }).click();
      await page.getByRole("menuitem", { name }).waitFor();
      await look("the session's menu");
      await page.getByRole("menuitem", { name }).click();
      await page.getByRole("dialog").waitFor();
      await look(`the dialog ${name}`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    for (const name of ["Rename…", "Clear…", "Delete…"]) await action(name);
    await page.getByRole("button", { name: "Agent and sessions" }).click();
    await page.locator(".session-link").first().waitFor();
    await look("the sessions");
    await page
      .locator(".sidebar")
      .getByRole("combobox", { name: "Chat" })
      .selectOption({ label: "Another chat…" });
    await page.getByRole("dialog").waitFor();
    await look("the dialog for another chat");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Pages", exact: true }).click();
    await page.getByRole("dialog", { name: "Pages" }).waitFor();
    await look("the links to the pages");
    await page.keyboard.press("Escape");
    await goTo(page, "Channels");
    await page.locator(".channel").nth(5).waitFor();
    for (const summary of await page.locator("summary").all()) await summary.click();
    await look("the channels");
    await goTo(page, "History");
    await page.getByLabel("Search this chat").fill("longer");
    await page.keyboard.press("Enter");
    await page.locator(".match").first().waitFor();
    await look("what was found");
    await page.locator(".match").first().click();
    await page.locator(".message").first().waitFor();
    await look("the history");
    await goTo(page, "Overview");
    await page.getByRole("region", { name: "Running now" }).waitFor();
    await page.getByText("By the hour, as a table").click();
    await look("the overview");
    await goTo(page, "Agents");
    await page.getByText("New agent").first().click();
    await look("the agents");
    await page.getByRole("link", { name: /^Edit/ }).first().click();
    await page.getByRole("form", { name: "Greeting" }).waitFor();
    await look("an agent");
    await goTo(page, "Events");
    await page.locator(".event").first().waitFor();
    await look("the events");
    await goTo(page, "System");
    await page.getByRole("region", { name: /^Processes/ }).waitFor();
    await look("the status");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Admin key").waitFor();
    await look("the login");
  }

  it.each(Object.entries(TEXTS))(
    "fits a screen of 320 and of 360 pixels with %s, on every page and in every dialog [PAGE-2]",
    async (name, css) => {
      for (const width of [320, 360]) {
        // The page's policy allows no styles from elsewhere; here the test brings some.
        const options = { viewport: { width, height: 640 }, hasTouch: true, bypassCSP: true };
        await using seen = await visit(browser, gateway, {
          hash: `#/chat/assistant/wide-${width}`,
          login: false,
          ...options,
        });
        await trouble(seen.page);
        await logIn(seen.page, KEYS.admin);
        await seen.page.addStyleTag({ content: css });
        const found: string[] = [];
        await walk(seen.page, async (what) => {
          for (const part of await cutOff(seen.page)) found.push(`${what}: ${part}`);
        });
        expect(found, `${name} at ${width} px`).toEqual([]);
        expect(seen.problems).toEqual([]);
      }
    },
    120_000,
  );
});
