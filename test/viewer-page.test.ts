import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, launchBrowser } from "./fixtures/browser.ts";
import { terminalRig } from "./fixtures/terminal-rig.ts";
import { root } from "./harness.ts";

describe.skipIf(!hasBrowser)("the pages of /cli (skipped where /usr/bin/chromium is missing)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  it("compare the code, open the terminal once approved, and type only when told to [TERM-8, PAIR-4]", async () => {
    const pages = join(root, "packages/gateway/dist/dashboard");
    await using rig = await terminalRig({ publicUrl: "http://localhost/gateway", pages });
    const { write, typed } = rig.terminals.get("s1")!;
    write("\u001b[38;2;10;200;90mcoloured words\u001b[0m");
    const { command } = await rig.terminal.room();
    const say = (text: string) =>
      command({
        agent: { id: "assistant" } as never,
        channel: "guildchat",
        chatId: "c",
        senderId: "me",
        isDirect: true,
        text,
      });
    const link = new URL(/http:\/\/\S+/.exec((await say("/cli"))!.text)![0]);
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.goto(`${rig.server.url}${link.pathname}`);
    const code = page.locator("#code");
    await expect.poll(() => code.textContent()).toMatch(/^\w{6}$/);
    // The first look, before this browser owned the link, was refused.
    problems.length = 0;
    expect((await say(`/cli approve ${await code.textContent()}`))!.text).toMatch(/Approved/);
    await page.getByText("coloured words").first().waitFor();
    const colour = await page
      .getByText("coloured words")
      .first()
      .evaluate((element) => getComputedStyle(element).color);
    expect(colour).toBe("rgb(10, 200, 90)");

    const area = page.locator(".xterm");
    await area.click();
    await page.keyboard.type("unseen");
    await page.getByLabel("Type into it").check();
    await page.keyboard.type("ls");
    await page.keyboard.press("Enter");
    await expect.poll(() => typed.join("")).toBe("ls\r");
    await page.keyboard.press("Control+]");
    expect(await page.getByLabel("Type into it").isChecked()).toBe(false);
    await page.keyboard.type("x");
    write(" and more");
    await page.getByText("and more").first().waitFor();
    expect(typed.join("")).toBe("ls\r");
    await page.getByLabel("Session").selectOption("s2");
    await expect.poll(() => rig.terminals.has("s2")).toBe(true);
    rig.terminals.get("s2")!.end();
    await page.getByText("The program has ended.").waitFor();
    expect(problems).toEqual([]);
    await context.close();
  });
});
