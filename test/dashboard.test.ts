import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  breakableLine,
  goTo,
  hasBrowser,
  launchBrowser,
  logIn,
  type Visit,
  visit,
} from "./fixtures/browser.ts";
import { type Gateway, KEYS, startGateway, until } from "./harness.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const MODELS = [
  { id: "model-large-1", name: "Large 1", alias: "large", contextWindow: 200_000, multiplier: 1 },
  { id: "model-small-1", name: "Small 1", alias: "small", contextWindow: 200_000, multiplier: 1 },
];

describe.skipIf(!hasBrowser)("dashboard (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  let seen: Visit;
  let page: Page;
  let chats = 0;

  beforeAll(async () => {
    [gateway, browser] = await Promise.all([startGateway({ gateway: { models: MODELS } }), launchBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });
  /** A chat of its own for each test. */
  const open = async (options: Parameters<typeof visit>[2] = {}) => {
    seen = await visit(browser, gateway, { hash: `#/chat/assistant/${chatId()}`, ...options });
    page = seen.page;
  };
  beforeEach(() => {
    chats += 1;
  });
  afterEach(async () => {
    const { problems } = seen;
    await seen[Symbol.asyncDispose]();
    expect(problems, "errors of the page and breaches of its policy").toEqual([]);
  });

  const chatId = () => `browser-${chats}`;
  const box = () => page.getByRole("textbox", { name: /^Message to/ });
  const list = () => page.getByRole("region", { name: "Messages" });
  const answers = () => list().locator(".message.assistant:not(.live)");
  const send = async (text: string) => {
    await box().fill(text);
    await page.getByRole("button", { name: "Send", exact: true }).click();
  };
  const ask = async (text: string, answer: string) => {
    const before = await answers().count();
    await send(text);
    const last = answers().nth(before);
    await last.waitFor();
    expect(await last.locator(".markdown").textContent()).toBe(answer);
  };
  const session = (action: string) =>
    page
      .getByRole("button", { name: "Actions for this session" })
      .click()
      .then(() => page.getByRole("menuitem", { name: action }).click());
  const sessionNames = () => page.locator(".session-name").allTextContents();

  it("lets only admin keys in, by an HttpOnly SameSite=Strict cookie, and keeps no key in the page [DASH-1, AUTH-4]", async () => {
    await open({ login: false });
    await logIn(page, "no-such-key");
    await page.getByText("The gateway does not know this API key.").waitFor();
    await logIn(page, KEYS.plain);
    await page.getByText("The dashboard requires an admin key.").waitFor();
    await logIn(page, KEYS.admin);
    await box().waitFor();
    const cookies = await seen.context.cookies();
    expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: "Strict" },
    ]);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    expect(kept).not.toContain(KEYS.admin);

    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are logged out.").waitFor();
    expect(await page.evaluate(async () => (await fetch("/api/v1/agents")).status)).toBe(401);
  });

  it("asks for the key again where it was when the login has ended", async () => {
    await open();
    await ask("SAY one", "one");
    await seen.context.clearCookies();
    const expired = page.getByText("Your session has expired.", { exact: false }).waitFor();
    // The message tells the page, or a list that it reads again by itself meanwhile.
    await Promise.race([send("SAY two").catch(() => {}), expired]);
    await expired;
    await logIn(page, KEYS.admin);
    await list().getByText("SAY one").waitFor();
  });

  it("shows an answer while it streams, then as it is stored", async () => {
    await open();
    await send("SLOW 30 60");
    const live = page.locator(".message.live");
    await live.getByText("w3", { exact: false }).waitFor();
    expect(await live.textContent()).not.toContain("w29");
    await answers().first().waitFor();
    expect(await answers().first().textContent()).toContain("w29");
    await until(async () => (await page.locator(".message").count()) === 2, "one question and one answer");
    expect(await page.locator(".context").getAttribute("title")).toMatch(/^2 messages; \d+ %/);
  });

  it("follows a running turn after a reload, and shows it once", async () => {
    await open();
    await send("SLOW 40 60");
    await page.locator(".message.live").getByText("w3", { exact: false }).waitFor();
    await page.reload();
    await page.locator(".message.live").getByText("w0 w1 w2", { exact: false }).waitFor();
    await answers().first().waitFor();
    expect(await answers().first().textContent()).toContain("w39");
    expect(await page.locator(".message").count()).toBe(2);
  });

  it("takes a broken stream up after its last frame", async () => {
    await using line = await breakableLine(gateway.url);
    await open({ url: line.url });
    await send("SLOW 40 60");
    await page.locator(".message.live").getByText("w3", { exact: false }).waitFor();
    line.cut();
    await page.getByText("Connection lost; reconnecting…").waitFor();
    await answers().first().waitFor();
    const text = (await answers().first().locator(".markdown").textContent()) ?? "";
    expect(text.trim()).toBe(Array.from({ length: 40 }, (_, n) => `w${n}`).join(" "));
    expect(await page.locator(".message").count()).toBe(2);
  });

  it("stops a turn and keeps the text so far", async () => {
    await open();
    await send("SLOW 200 50");
    await page.locator(".message.live").getByText("w2", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Stop the answer" }).click();
    await page.getByText("Stopped before it was finished.").waitFor();
    expect(await answers().first().textContent()).toContain("w2");
    await ask("SAY next", "next");
  });

  it("says what the agent failed with, in the conversation", async () => {
    await open();
    await send("ERR Out of credit.");
    await page.locator(".turn-error").getByText("Out of credit", { exact: false }).waitFor();
    await ask("SAY well", "well");
  });

  it("creates, renames, clears, compacts, restarts and deletes sessions", async () => {
    await open();
    await ask("SAY first", "first");
    await page.getByRole("button", { name: "New conversation" }).click();
    await ask("SAY second", "second");
    await until(async () => (await sessionNames()).length === 2, "two sessions");
    await session("Rename…");
    await page.getByLabel("Name", { exact: true }).fill("Renamed");
    await page.keyboard.press("Enter");
    await until(async () => (await sessionNames()).includes("Renamed"), "the new name");
    await session("Restart agent process");
    await page.locator(".note").getByText("is restarting", { exact: false }).waitFor();
    await session("Compact");
    await page.locator(".note").getByText("nothing to compact", { exact: false }).waitFor();
    await session("Clear…");
    await page.getByRole("dialog").getByRole("button", { name: "Clear" }).click();
    await until(async () => (await page.locator(".message").count()) === 0, "an empty session");
    await session("Delete…");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await until(async () => (await sessionNames()).length === 1, "one session");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("New conversation");
    await page.locator(".session-link").click();
    await answers().getByText("first").waitFor();
  });

  it("suggests slash commands and shows what they did, apart from the messages", async () => {
    await open();
    await ask("SAY one", "one");
    await box().pressSequentially("/se");
    const option = page.getByRole("listbox", { name: "Commands" }).getByRole("option");
    expect(await option.allTextContents()).toEqual([expect.stringContaining("/session")]);
    await page.keyboard.press("Enter");
    expect(await box().inputValue()).toBe("/session");
    await page.keyboard.press("Enter");
    await page.locator(".note").getByText("2 messages", { exact: false }).waitFor();
    await send("/nonsense");
    await page.getByRole("alert").getByText("/nonsense", { exact: false }).waitFor();
    expect(await box().inputValue()).toBe("/nonsense");
    expect(await page.locator(".message").count()).toBe(2);
  });

  it("chooses the model of a session, also before its first message", async () => {
    await open();
    const picker = page.getByLabel("Model of this session");
    await picker.selectOption("model-small-1");
    await ask("MODEL", "model-small-1");
    await picker.selectOption("model-large-1");
    await page.getByText("This session now uses model-large-1.").waitFor();
    await ask("MODEL", "model-large-1");
    await page.reload();
    await until(async () => (await picker.inputValue()) === "model-large-1", "the session's model");
  });

  it("uploads images for the next message and shows those that the agent sends", async () => {
    await open();
    const files = page.getByLabel("Files to attach");
    await files.setInputFiles([{ name: "dot.png", mimeType: "image/png", buffer: PNG }]);
    const attached = page.getByRole("list", { name: "Attachments of the next message" });
    await attached.locator("img").waitFor();
    await ask("look", "Echo[1 img=1]: look");
    await files.setInputFiles([{ name: "fake.png", mimeType: "image/png", buffer: Buffer.from("no image") }]);
    await page.getByRole("alert").locator(".error").waitFor();
    await ask("IMAGE", "Here it is.");
    const loaded = () =>
      page.evaluate(() => [...document.querySelectorAll("img")].map((image) => image.naturalWidth));
    await until(async () => (await loaded()).join() === "1,1", "both images");
  });

  it("formats Markdown, and never as markup of the page", async () => {
    await open();
    await ask("SAY **bold** <img src=x onerror=alert(1)> `code`", "bold <img src=x onerror=alert(1)> code");
    const answer = answers().first();
    expect(await answer.locator("strong").textContent()).toBe("bold");
    expect(await answer.locator("img").count()).toBe(0);
    await ask(
      "SAY [bad](javascript:alert(1)) [good](https://example.org/)",
      "[bad](javascript:alert(1)) good",
    );
    const links = answers().nth(1).locator("a");
    expect(await links.count()).toBe(1);
    expect(await links.getAttribute("rel")).toContain("noopener");
  });

  it("pages upward through a long session, and searches the history", async () => {
    const lines = Array.from({ length: 130 }, (_, n) => ({
      chatId: `api-${chatId()}`,
      sessionId: "11111111-2222-4333-8444-555555555555".replace("11111111", String(10_000_000 + chats)),
      sessionName: "Long",
      role: n % 2 === 0 ? "user" : "assistant",
      content: n === 40 ? "ค้นหาข้อความนี้" : `line ${n}`,
      ts: 1_700_000_000_000 + n * 1000,
    }));
    const body = lines.map((line) => JSON.stringify(line)).join("\n");
    const imported = await gateway.request("POST", "/api/v1/agents/assistant/history/import", {
      raw: body,
      headers: { "content-type": "application/x-ndjson" },
    });
    expect(imported.status).toBe(200);
    await open();
    await page.locator(".session-link").click();
    await list().getByText("line 129", { exact: true }).waitFor();
    const earlier = list().getByRole("button", { name: "Show earlier messages" });
    await earlier.click();
    await list().getByText("line 50", { exact: true }).waitFor();
    await earlier.click();
    await list().getByText("line 0", { exact: true }).waitFor();
    await earlier.waitFor({ state: "detached" });
    expect(await page.locator(".message").count()).toBe(130);

    await goTo(page, "History");
    await page.getByLabel("Search this chat").fill("ข้อความ");
    await page.keyboard.press("Enter");
    await page.getByText("1 message contains", { exact: false }).first().waitFor();
    expect(await page.locator("mark").textContent()).toBe("ข้อความ");
    await page.locator(".match").click();
    await list().getByText("ค้นหาข้อความนี้").waitFor();
    await list().getByRole("button", { name: "Show later messages" }).click();
    await list().getByText("line 41", { exact: true }).waitFor();
    await list().getByRole("link", { name: "Open in chat" }).first().click();
    await list().getByText("line 129", { exact: true }).waitFor();
  });

  it("shows agents, live sessions and processes", async () => {
    await open();
    await ask("SAY hello", "hello");
    await goTo(page, "System");
    const agents = page.getByRole("region", { name: "Agents" });
    await agents.getByRole("cell", { name: "assistant", exact: true }).waitFor();
    const live = page.getByRole("region", { name: "Live sessions" });
    await live.getByRole("cell", { name: `api-${chatId()}`, exact: true }).waitFor();
    const processes = page.getByRole("region", { name: /^Processes/ });
    await until(async () => (await processes.getByRole("row").count()) > 2, "the gateway and its child");
  });

  it("works on a phone: nothing is cut off and the sessions are a drawer", async () => {
    await open({ viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme: "dark" });
    await ask(
      "SAY a long answer with `some_code_that_is_quite_long_and_cannot_be_broken_anywhere_at_all` in it",
      "a long answer with some_code_that_is_quite_long_and_cannot_be_broken_anywhere_at_all in it",
    );
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBe(0);
    expect(await page.locator(".session-link").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Agent and sessions" }).click();
    await page.locator(".session-link").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".session-link").waitFor({ state: "hidden" });
    for (const view of ["History", "System"]) {
      await goTo(page, view);
      await page.getByRole("heading", { level: 1, name: view }).waitFor();
      expect(await overflow()).toBe(0);
    }
  });

  it("can be used by keyboard alone", async () => {
    await open({ login: false });
    await until(() => page.evaluate(() => document.activeElement?.id === "key"), "focus in the key field");
    await page.keyboard.type(KEYS.admin);
    await page.keyboard.press("Enter");
    await until(() => page.evaluate(() => document.activeElement?.id === "message"), "focus in the message");
    await page.keyboard.type("SAY typed");
    await page.keyboard.press("Enter");
    await answers().getByText("typed").waitFor();
    await page.getByRole("button", { name: "Actions for this session" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const status = await page.locator("p[role=status]").textContent();
    expect(status).toContain("typed");
  });

  it("has a stream that a plain fetch reader of a browser consumes", async () => {
    await open();
    await box().waitFor();
    const text = await page.evaluate(async (chat) => {
      const response = await fetch("/api/v1/agents/assistant/messages", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ message: "DELTAS 300", chat_id: chat, stream: true }),
      });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const decoder = new TextDecoder();
      let all = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        all += decoder.decode(part.value, { stream: true });
      }
      return all;
    }, chatId());
    const data = text.split("\n").filter((line) => line.startsWith("data: "));
    expect(data.at(-1), text.slice(0, 500)).toBe("data: [DONE]");
    const events = data.slice(0, -1).map((line) => JSON.parse(line.slice(6)) as Record<string, unknown>);
    const deltas = events.filter(({ type }) => type === "text_delta").map((event) => event.text);
    expect(deltas.join("")).toBe(Array.from({ length: 300 }, (_, n) => `d${n} `).join(""));
    expect(events.at(-1)).toMatchObject({ type: "result" });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});
