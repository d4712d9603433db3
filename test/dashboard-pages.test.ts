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
    const scripts = () =>
      page.evaluate(() =>
        performance
          .getEntriesByType("resource")
          .map(({ name }) => name)
          .join(" "),
      );
    expect(await scripts()).not.toContain("UsagePage");
    const module = "**/assets/UsagePage-*.js";
    await page.route(module, (route) => route.abort());
    await goTo(page, "Usage");
    await page.getByRole("alert").getByText("This page could not be loaded.", { exact: false }).waitFor();
    await page.unroute(module);
    await page.getByRole("button", { name: "Reload" }).click();
    await heading(page, "Usage").waitFor();
    expect(await scripts()).toContain("UsagePage");
    await page.evaluate(() => {
      location.hash = "#/no-such-page";
    });
    await heading(page, "Overview").waitFor();
  });
});
