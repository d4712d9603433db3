import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { type Gateway, root, startGateway } from "./harness.ts";

describe.skipIf(!hasBrowser)("the page of incidents (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  beforeAll(async () => {
    const stuck = [process.execPath, join(root, "test/fixtures/stuck-agent.mjs")];
    const options = {
      gateway: { selfHealing: { quietSeconds: 1 } },
      agent: { name: "Ada", runtime: { type: "agent-cli", command: stuck } },
    };
    [gateway, browser] = await Promise.all([startGateway(options), launchBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });

  it("shows what is stuck and why, and lets a person do what is allowed [HEAL-14]", async () => {
    await using seen = await visit(browser, gateway);
    const { page, problems } = seen;
    const reply = gateway.send("ONCE page MUTE");
    const waiting = page.getByRole("region", { name: "Waiting for you" });
    await waiting.getByRole("link", { name: "Help: Ada is stuck" }).click();
    const open = page.getByRole("region", { name: "Stuck now" });
    await open.getByText("Ada has stopped responding").waitFor();
    await open.getByText(/The program has written nothing for \d+ seconds?\./).waitFor();
    expect(await open.getByRole("button").allTextContents()).toEqual([
      "Restart the program",
      "Send the message again",
    ]);
    await open.getByRole("button", { name: "Restart the program: Ada has stopped responding" }).click();
    await open.getByText("No agent is stuck.").waitFor();
    const over = page.getByRole("region", { name: "Over" }).getByRole("row").last();
    expect(await over.textContent()).toMatch(/The program was restarted \(by a person\)It went on$/);
    expect((await reply).body.response).toBe("Echo: ONCE page MUTE");
    expect(problems).toEqual([]);
  });
});
