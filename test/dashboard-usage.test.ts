import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { goTo, hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { cutOff, TEXTS } from "./fixtures/layout.ts";
import { type Gateway, startGateway } from "./harness.ts";

describe.skipIf(!hasBrowser)("the Usage page (skipped where /usr/bin/chromium is missing)", () => {
  let gateway: Gateway;
  let browser: Browser;
  beforeAll(async () => {
    [gateway, browser] = await Promise.all([startGateway(), launchBrowser()]);
    await gateway.send("SAY 12345678");
    await gateway.send("SAY 12345678");
  });
  afterAll(async () => {
    await browser.close();
    await gateway[Symbol.asyncDispose]();
  });

  it("shows sums and bars by day, which the keyboard goes through, and who caused them [USE-12]", async () => {
    await using seen = await visit(browser, gateway);
    const { page, problems } = seen;
    await goTo(page, "Usage");
    const plot = page.getByRole("slider", { name: "Tokens by day" });
    await plot.waitFor();
    expect(await page.locator(".plot .bar").count()).toBe(30);
    expect(await plot.getAttribute("aria-valuetext")).toContain("2,004 tokens");
    await plot.focus();
    await page.keyboard.press("ArrowLeft");
    expect(await plot.getAttribute("aria-valuetext")).toMatch(/: 0 tokens$/);
    await page.keyboard.press("Home");
    expect(await plot.getAttribute("aria-valuenow")).toBe("0");
    await page.keyboard.press("End");
    expect(await page.locator(".plot figcaption").textContent()).toContain("2,004 tokens");

    const agents = page.getByRole("region", { name: "By agent" });
    expect(await agents.getByRole("row").nth(1).textContent()).toMatch(/^assistant2/);
    await page.getByRole("combobox", { name: "By" }).selectOption("Model");
    const models = page.getByRole("region", { name: "By model" });
    await models.waitFor();
    expect(await models.textContent()).toContain("fake-model");
    await page.getByRole("combobox", { name: "Show" }).selectOption("Cost");
    expect(await page.getByRole("slider", { name: "Cost by day" }).getAttribute("aria-valuetext")).toContain(
      "$0.002",
    );
    await page.getByRole("combobox", { name: "Days" }).selectOption("Last 7 days");
    await expect.poll(() => page.locator(".plot .bar").count()).toBe(7);
    await page.reload();
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    expect(problems).toEqual([]);
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`is not cut off at 320 pixels, and its bars can be seen, in ${colorScheme} [USE-12] [PAGE-2]`, async () => {
      await using seen = await visit(browser, gateway, {
        hash: "#/usage",
        viewport: { width: 320, height: 700 },
        colorScheme,
        // The fonts of the test are styles of its own.
        bypassCSP: true,
      });
      const { page } = seen;
      await page.getByRole("region", { name: /^By day/ }).waitFor();
      const bar = page.locator(".plot .bar.chosen rect").last();
      const [fill, ground] = await bar.evaluate((rect) => [
        getComputedStyle(rect).fill,
        getComputedStyle(rect.closest(".plot")!).backgroundColor,
      ]);
      expect(fill).not.toBe(ground);
      for (const [name, css] of Object.entries(TEXTS)) {
        const style = await page.addStyleTag({ content: css });
        expect(await cutOff(page), name).toEqual([]);
        await style.evaluate((element) => (element as HTMLElement).remove());
      }
    });
  }
});
