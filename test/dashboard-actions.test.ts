import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { type Gateway, put, startGateway } from "./harness.ts";

const AGENT = "/api/v1/agents/assistant";

describe.skipIf(!hasBrowser)("what the dashboard does (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  beforeAll(async () => {
    [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });
  const action = (page: Page, name: string) =>
    page
      .getByRole("button", { name: "Actions for this session" })
      .click()
      .then(() => page.getByRole("menuitem", { name }).click());

  it("lets the agent greet, shares a file, and tells what a reply used [DASH-CHAT-1]", async () => {
    await gateway.json("PUT", `${AGENT}/greeting`, { body: { text: "SAY Good morning." } });
    await using seen = await visit(browser, gateway, { hash: "#/chat/assistant/actions" });
    const { page, problems } = seen;
    await page.getByRole("textbox", { name: /^Message to/ }).fill("SAY 12345678");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    const answers = page.locator(".message.assistant:not(.live)");
    await answers.getByText("12345678").waitFor();
    const { body } = await gateway.json("GET", "/api/v1/usage");
    const { inputTokens, outputTokens } = body.total as Record<string, number>;
    await answers
      .getByText(`${inputTokens!.toLocaleString("en-US")} tokens read, ${outputTokens} written`)
      .waitFor();

    await action(page, "Let the agent greet");
    await answers.getByText("Good morning.").waitFor();
    await action(page, "Let the agent greet");
    await page.locator(".note").getByText("There is no greeting.", { exact: false }).waitFor();

    await put(gateway.home, "agents/assistant/workspace/report.txt", "figures");
    await action(page, "Share a file…");
    await page
      .getByLabel("Path of the file")
      .fill(join(gateway.home, "agents/assistant/workspace/report.txt"));
    await page.getByRole("dialog").getByRole("button", { name: "Make a link" }).click();
    const link = page.locator(".note").getByRole("link");
    const shared = await fetch((await link.getAttribute("href"))!);
    expect(await shared.text()).toBe("figures");
    await action(page, "Share a file…");
    await page.getByLabel("Path of the file").fill("/etc/passwd");
    await page.getByRole("dialog").getByRole("button", { name: "Make a link" }).click();
    await page.getByRole("alert").locator(".error").waitFor();
    expect(problems).toEqual([]);
  });

  it("exports messages, imports them elsewhere, and puts one into a channel's conversation [DASH-SYS-1] [DASH-CHAT-2]", async () => {
    const line = (role: string, content: string, ts: number) => ({
      chatId: "botchat-77",
      sessionId: "11111111-2222-4333-8444-555555555555",
      role,
      content,
      ts,
    });
    const lines = [
      line("user", "from a channel", 1_700_000_000_000),
      line("assistant", "yes", 1_700_000_001_000),
    ];
    const imported = await gateway.request("POST", `${AGENT}/history/import`, {
      raw: lines.map((one) => JSON.stringify(one)).join("\n"),
      headers: { "content-type": "application/x-ndjson" },
    });
    expect(imported.status).toBe(200);
    await using seen = await visit(browser, gateway, { hash: "#/system" });
    const { page, problems } = seen;
    const transfer = page.getByRole("region", { name: "Export and import" });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      transfer.getByRole("link", { name: "Export the messages of assistant" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("assistant.ndjson");
    const file = join(gateway.home, "exported.ndjson");
    await download.saveAs(file);
    expect(await readFile(file, "utf8")).toContain("from a channel");
    await transfer.getByRole("button", { name: "Import" }).click();
    await transfer.getByText("Choose a file first.").waitFor();
    await transfer.getByLabel("Agent").selectOption("second");
    await transfer.getByLabel("File with messages").setInputFiles(file);
    await transfer.getByRole("button", { name: "Import" }).click();
    await transfer.getByText(/messages of \d+ sessions were added\.$/).waitFor();
    const { body } = await gateway.json("GET", "/api/v1/agents/second/chats");
    expect(JSON.stringify(body)).toContain("botchat-77");

    await page.evaluate(() => {
      location.hash = "#/history/assistant/botchat-77";
    });
    await page.getByText("Say something to the agent", { exact: false }).click();
    const form = page.getByRole("form", { name: "Put a message in" });
    await form.getByLabel("Message", { exact: true }).fill("SAY put in");
    await form.getByLabel("From", { exact: false }).fill("The owner");
    await form.getByRole("button", { name: "Put in" }).click();
    await page.locator(".message.assistant").getByText("put in").waitFor();
    await page.locator(".message.user .author").getByText("The owner").waitFor();
    expect(problems).toEqual([]);
  });

  it("lists events as they happen, by topic and agent [DASH-EVENT-1]", async () => {
    await using seen = await visit(browser, gateway, { hash: "#/events" });
    const { page, problems } = seen;
    const rows = page.getByRole("region", { name: "Latest events" }).getByRole("listitem");
    await rows.filter({ hasText: "gateway.started" }).waitFor();
    await page.getByText("New events appear by themselves.").waitFor();
    const before = await rows.filter({ hasText: "turn.finished" }).count();
    await gateway.send("SAY hello", { chat_id: "events" });
    await expect.poll(() => rows.filter({ hasText: "turn.finished" }).count()).toBe(before + 1);
    expect(await rows.first().textContent()).toContain("The agent answered");
    await page.getByLabel("About").selectOption("gateway");
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByLabel("About").selectOption("turn");
    await page.getByRole("combobox", { name: /^Agent/ }).selectOption("second");
    await page.getByText("None of the latest events match.").waitFor();
    expect(problems).toEqual([]);
  });

  it("tells what became of a message of a channel [DASH-TRACE-1]", async () => {
    const trace = {
      message: {
        id: 5,
        direction: "in",
        channel: "botchat",
        account: "",
        chatId: "77",
        senderId: "100",
        state: "done",
      },
      steps: [
        { step: "received", at: 1_700_000_000_000 },
        { step: "delivery", at: null, state: "pending", attempts: 2, reason: "HTTP 500" },
      ],
    };
    await using seen = await visit(browser, gateway, { hash: "#/channels/assistant" });
    const { page, problems } = seen;
    await page.getByText("What became of a message?").click();
    const form = page.getByRole("form", { name: "Trace a message" });
    await form.getByLabel("Id").fill("no-such-message");
    await form.getByRole("button", { name: "Look" }).click();
    await expect.poll(() => form.getByRole("alert").textContent()).not.toBe("");
    await page.route(`**${AGENT}/channels/trace/5`, (route) => route.fulfill({ json: trace }));
    await form.getByLabel("Id").fill("5");
    await page.keyboard.press("Enter");
    await form.getByText("Telegram, chat 77, from 100: done").waitFor();
    expect(await form.getByRole("listitem").last().textContent()).toBe(
      "Reply handed to the provider: not yet pending, 2 attempts, HTTP 500",
    );
    await goTo(page, "Overview");
    expect(problems).toEqual([]);
  });

  it("creates, runs, changes, disables and deletes a scheduled job [DASH-SCHEDULE-1]", async () => {
    await using seen = await visit(browser, gateway, { hash: "#/schedule" });
    const { page, problems } = seen;
    await page.getByText("Nothing is scheduled yet.", { exact: false }).waitFor();
    await page.getByText("New job", { exact: true }).first().click();
    const form = page.getByRole("form", { name: "New job" });
    await form.getByLabel("Name", { exact: true }).fill("Morning");
    await form.getByLabel("Five fields", { exact: false }).fill("nonsense");
    await form.getByLabel("What the agent is asked").fill("SAY good day");
    await form.getByRole("button", { name: "Create" }).click();
    await expect.poll(() => form.getByRole("alert").textContent()).not.toBe("");
    await form.getByLabel("Five fields", { exact: false }).fill("0 9 * * 1-5");
    await form.getByRole("button", { name: "Create" }).click();
    const job = page.getByRole("list", { name: "Jobs" }).getByRole("listitem").first();
    await job.getByText("Next:", { exact: false }).waitFor();
    expect(await job.textContent()).toContain("0 9 * * 1-5");

    await page.getByRole("button", { name: "Run now: Morning" }).click();
    const runs = page.getByRole("region", { name: "Runs of Morning" });
    await runs.getByText("worked").waitFor();
    await runs.getByText("Output").click();
    await runs.getByText("good day").waitFor();

    await page.getByRole("button", { name: "Edit: Morning" }).click();
    const edit = page.getByRole("form", { name: "Edit Morning" });
    await edit.getByLabel("When").selectOption("every");
    await edit.getByLabel("Interval", { exact: false }).fill("2h");
    await edit.getByRole("button", { name: "Save" }).click();
    await job.getByText("every 2h").waitFor();
    await page.getByRole("button", { name: "Disable: Morning" }).click();
    await job.getByText("Disabled", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Delete…: Morning" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Nothing is scheduled yet.", { exact: false }).waitFor();
    expect((await gateway.json("GET", "/api/v1/crons")).body.jobs).toEqual([]);
    expect(problems).toEqual([]);
  });
});
