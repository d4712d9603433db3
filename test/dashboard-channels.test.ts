import type { Browser, Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, type Visit, visit } from "./fixtures/browser.ts";
import { startTokenJudge } from "./fixtures/token-judge.ts";
import { type Gateway, put, startGateway, until } from "./harness.ts";

const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const AGENT = "/api/v1/agents/assistant";

describe.skipIf(!hasBrowser)("the channels page (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let judge: Awaited<ReturnType<typeof startTokenJudge>>;
  let browser: Browser;
  let seen: Visit;
  let page: Page;

  beforeAll(async () => {
    judge = await startTokenJudge();
    [gateway, browser] = await Promise.all([
      startGateway({
        agent: {
          botchat: { botToken: "good-bot", apiBaseUrl: judge.url },
          teamchat: { apiBaseUrl: judge.url },
          sigchat: { channelAccessToken: "good-line", channelSecret: "s", apiBaseUrl: judge.url },
          // Nothing answers there: what linking shows comes from the answers of the test.
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
  const open = async (options: Parameters<typeof visit>[2] = {}) => {
    seen = await visit(browser, gateway, { hash: "#/channels/assistant", ...options });
    page = seen.page;
    await page.getByRole("heading", { level: 1, name: "Channels" }).waitFor();
    await card("Telegram").waitFor();
  };
  afterEach(async () => {
    const { problems } = seen;
    await seen[Symbol.asyncDispose]();
    expect(problems, "errors of the page and breaches of its policy").toEqual([]);
  });

  const card = (service: string) => page.getByRole("region", { name: new RegExp(`^${service} `) });
  const get = async (path: string) => (await gateway.json("GET", `${AGENT}${path}`)).body;
  const policyOf = async (channel: string) =>
    ((await get("")).agent as { channels: Record<string, Record<string, unknown>> }).channels[channel]!;
  const answer = (route: Route, json: unknown) => route.fulfill({ json });
  /** Puts knocks into the state of `botchat`. */
  const knock = (...codes: string[]) =>
    put(
      gateway.home,
      "agents/assistant/workspace/.botchat-state/access.json",
      JSON.stringify({
        pending: Object.fromEntries(
          codes.map((code, index) => [
            code,
            {
              senderId: String(100 + index),
              senderName: `Person ${index}`,
              chatId: String(100 + index),
              createdAt: Date.now() - 60_000,
              expiresAt: Date.now() + 600_000,
              kind: "dm",
            },
          ]),
        ),
      }),
    );

  it("shows each channel's live state, last error and queue [CH-DASH-1]", async () => {
    await open();
    // The stand-in for the provider answers no polling.
    await card("Telegram").getByText("not connected").waitFor();
    await until(
      async () => (await card("Telegram").locator(":scope > .failure").count()) === 1,
      "the last error",
    );
    await card("Telegram").getByText("Queued").waitFor();
    await card("Discord").getByText("off", { exact: true }).waitFor();
    await card("Discord").getByText("Message Content intent", { exact: false }).waitFor();
    expect(await page.locator(".channel").count()).toBe(6);

    const body = await get("/channels");
    const channels = (body.channels as Record<string, unknown>[]).map((state) =>
      state.channel === "botchat"
        ? { ...state, connected: true, queued: 3, lastError: null, lastInboundAt: Date.now() - 61_000 }
        : state,
    );
    await page.route(`**${AGENT}/channels`, (route) => answer(route, { channels }));
    await card("Telegram").getByText("connected", { exact: true }).waitFor();
    await card("Telegram").getByText("1 min ago").waitFor();
    await card("Telegram").getByText("3", { exact: true }).waitFor();
  });

  it("lists replies that may not have arrived and sends one again after a question [PAGE-7]", async () => {
    const delivery = {
      id: 7,
      channel: "botchat",
      account: "",
      chatId: "4711",
      state: "unknown",
      purpose: "answer",
      text: "The meeting is at noon.",
      createdAt: Date.now() - 120_000,
      settledAt: Date.now() - 61_000,
      reason: "the connection broke",
      sendable: true,
    };
    let deliveries = [delivery];
    const asked: string[] = [];
    await open();
    await page.route(`**${AGENT}/channels/deliveries*`, (route) => answer(route, { deliveries }));
    await page.route(`**${AGENT}/channels/deliveries/7/send-again`, (route) => {
      asked.push(route.request().method());
      deliveries = [];
      return answer(route, { done: true });
    });
    const list = page.getByRole("region", { name: "Not confirmed" });
    await list.getByText("The meeting is at noon.").waitFor();
    await list.getByText("the connection broke", { exact: false }).waitFor();
    await list.getByRole("button", { name: "Send again" }).click();
    await page.getByRole("dialog").getByText("will get it twice", { exact: false }).waitFor();
    await page.keyboard.press("Escape");
    expect(asked).toEqual([]);
    await list.getByRole("button", { name: "Send again" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
    await list.waitFor({ state: "detached" });
    expect(asked).toEqual(["POST"]);
  });

  it("lets who waits in, or not, with one click [CH-DASH-2]", async () => {
    await knock("AAAAAA", "BBBBBB");
    await open();
    const waiting = page.getByRole("region", { name: "Waiting for approval" });
    await waiting.getByText("Person 0 (100)").waitFor();
    await waiting.getByText("AAAAAA").waitFor();
    await page.getByRole("button", { name: "Approve Person 0 (100)" }).click();
    await waiting.getByText("Person 0 (100)").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Deny Person 1 (101)" }).click();
    await waiting.getByText("No one is waiting.", { exact: false }).waitFor();
    expect(await get("/botchat/allowlist")).toEqual({ allowFrom: ["100"] });
    expect(await page.locator("p[role=status]").first().textContent()).toContain("Person 1");
  });

  it("changes policies and lists, wherever they are kept [CH-DASH-3]", async () => {
    await open();
    for (const [service, channel, groups] of [
      ["Telegram", "botchat", "Groups"],
      ["LINE", "sigchat", "Groups and rooms"],
    ] as const) {
      await card(service).getByRole("combobox", { name: "Direct messages" }).selectOption("open");
      await until(async () => (await policyOf(channel)).dmPolicy === "open", `${channel} open to all`);
      await card(service).getByRole("combobox", { name: groups, exact: true }).selectOption("disabled");
      await until(async () => (await policyOf(channel)).groupPolicy === "disabled", "no groups");
      await card(service).getByLabel("Give unknown senders a pairing code").uncheck();
      await until(async () => (await policyOf(channel)).pairing === false, "no codes");
    }
    const telegram = card("Telegram");
    await telegram.locator(".allowed summary").click();
    await telegram.getByLabel("Id to add to People").fill("4711");
    await page.keyboard.press("Enter");
    await telegram.getByRole("button", { name: "Remove 4711" }).waitFor();
    await telegram.getByRole("button", { name: "Remove 4711" }).click();
    await telegram.getByRole("button", { name: "Remove 4711" }).waitFor({ state: "detached" });
    await telegram.getByLabel("Id to add to People").fill("ann");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("must be the number of a user", { exact: false }).waitFor();
  });

  it("keeps showing a change while what it read before arrives, and takes it back when it is refused [CH-DASH-3]", async () => {
    await open();
    const mention = card("Telegram").getByLabel("Reply only when mentioned");
    await mention.setChecked(true);
    await until(async () => (await policyOf("botchat")).requireMention === true, "the first state");
    const saving = Promise.withResolvers<Route>();
    await page.route("**/botchat/policy", (route) => saving.resolve(route));
    await mention.click();
    const route = await saving.promise;
    // Meanwhile the page reads everything again, twice: what it reads still has the old value.
    for (let n = 0; n < 2; n++) {
      await page.waitForResponse((response) => response.url().endsWith("/deliveries"), { timeout: 20_000 });
    }
    expect(await mention.isChecked()).toBe(false);
    await route.fulfill({ status: 503, json: { error: "The disk is full.", code: "UNAVAILABLE" } });
    await page.getByRole("alert").getByText("The disk is full.", { exact: false }).waitFor();
    await until(() => mention.isChecked(), "the stored value");
    await page.unroute("**/botchat/policy");
    await mention.click();
    await until(async () => (await policyOf("botchat")).requireMention === false, "the change");
  });

  it("connects a channel with its tokens, which the provider judges [CH-DASH-3]", async () => {
    await open();
    const slack = card("Slack");
    await slack.getByText("Connect", { exact: true }).click();
    await slack.getByRole("button", { name: "Save teamchat" }).click();
    await slack.getByText("Fill in both fields.").waitFor();
    await slack.getByLabel("Bot user OAuth token").fill("bad");
    await slack.getByLabel("Signing secret").fill("secret");
    await slack.getByRole("button", { name: "Save teamchat" }).click();
    await slack.getByText("Slack refused the bot token", { exact: false }).waitFor();
    await slack.getByLabel("Bot user OAuth token").fill("good-slack");
    await slack.getByRole("button", { name: "Save teamchat" }).click();
    await slack.getByText("Who can write").waitFor();
    await slack.getByRole("button", { name: "Turn off teamchat" }).click();
    await slack.getByRole("button", { name: "Turn on teamchat" }).click();
    await slack.getByRole("button", { name: "Turn off teamchat" }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, document.body.innerHTML]));
    expect(kept).not.toContain("good-slack");
  });

  it("links a phone by QR or code, and unlinks it after a question [CH-DASH-4]", async () => {
    await open();
    const account = { id: "default", label: null, connected: false, number: null as string | null };
    const policy = { dm_policy: null, dm_allowlist: [], group_policy: null, group_allowlist: [] };
    let live: Record<string, unknown> = { status: "unlinked" };
    const asked: string[] = [];
    await page.route(`**${AGENT}/devicechat/**`, async (route) => {
      const [, name] = /devicechat\/([a-z-]+)/.exec(route.request().url())!;
      if (name === "pending") return answer(route, { senders: [] });
      if (name === "accounts") {
        const full = { ...account, ...policy, status: live.status, require_mention: null, pairing: true };
        return answer(route, { accounts: [full] });
      }
      if (name === "status") {
        return answer(route, { account_id: "default", loggedOut: false, ...live });
      }
      asked.push(`${name} ${route.request().postData()}`);
      if (name === "link") live = { status: "pending_scan", qr: PNG };
      if (name === "pairing-code") live = { status: "pending_scan", pairingCode: "ABCD-EFGH" };
      if (name === "unlink") live = { status: "unlinked" };
      return answer(route, { ok: true, account_id: "default", pairingCode: "ABCD-EFGH" });
    });
    const device = page.getByRole("region", { name: "Account default" });
    await device.getByRole("button", { name: "Link with QR code" }).click();
    const qr = device.getByRole("img", { name: "QR code that links default" });
    await until(() => qr.evaluate((image: HTMLImageElement) => image.naturalWidth > 0), "the QR code");

    await device.getByRole("button", { name: "Link with a code…" }).click();
    await page.getByLabel("Phone number").fill("+66 81 234 5678");
    await page.keyboard.press("Enter");
    await device.getByText("ABCD-EFGH").waitFor();
    live = { status: "linked", phoneNumber: "66812345678" };
    account.number = "66812345678";
    await device.getByText("66812345678, linked").waitFor();

    await device.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByText("66812345678 will be logged out", { exact: false }).waitFor();
    await page.keyboard.press("Escape");
    expect(asked.map((line) => line.split(" ")[0])).toEqual(["link", "pairing-code"]);
    await device.getByRole("button", { name: "Unlink…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
    await device.getByRole("button", { name: "Link with QR code" }).waitFor();
    expect(asked.at(-1)).toBe('unlink {"account_id":"default"}');
  });

  it("says that the gateway does not answer, and keeps what it said last [CH-DASH-1]", async () => {
    await open();
    await page.route(`**${AGENT}/channels`, (route) => route.abort());
    await page.getByText("The gateway is not responding. This is its last known state.").waitFor();
    expect(await page.locator(".channel").count()).toBe(6);
    await page.unroute(`**${AGENT}/channels`);
    await page.getByText("The gateway is not responding", { exact: false }).waitFor({ state: "detached" });
  });

  it("works on a phone, and by keyboard alone [CH-DASH-5]", async () => {
    await knock("CCCCCC");
    await open({ viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme: "dark" });
    await page.getByText("CCCCCC").waitFor();
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await overflow()).toBe(0);
    for (const details of await page.locator("details > summary").all()) await details.click();
    expect(await overflow()).toBe(0);
    await page.getByRole("button", { name: "Deny Person 0 (100)" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("No one is waiting.", { exact: false }).waitFor();
    await goTo(page, "History");
    await goTo(page, "Channels");
    await card("Telegram").waitFor();
    expect(page.url()).toContain("#/channels/assistant");
  });
});
