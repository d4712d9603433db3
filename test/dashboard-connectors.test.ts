import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { cutOff } from "./fixtures/layout.ts";
import { startOAuth } from "./fixtures/oauth-server.ts";
import { root, startGateway } from "./harness.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const SECRET = "a-secret-that-nobody-sees";
const SHOTS = process.env.CONNECTOR_SHOTS;

/** What axe finds serious, and what reaches past the screen. */
async function faults(page: Page, what: string): Promise<string[]> {
  const found: string[] = [];
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate(() =>
        (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
          resultTypes: ["violations"],
        }),
      );
      for (const { id, impact } of violations) {
        if (impact === "serious" || impact === "critical") found.push(`${what}, ${width}: ${id}`);
      }
      if (SHOTS)
        await page.screenshot({ path: `${SHOTS}/${what}-${width}-${colorScheme}.png`, fullPage: true });
    }
    for (const part of await cutOff(page)) found.push(`${what}, ${width}: cut off: ${part}`);
  }
  return found;
}

it.skipIf(!hasBrowser)(
  "the Connectors page adds, pastes, tests, switches, signs in, tells what fails, and removes [DASH-CONN-1] [DASH-CONN-2] [DASH-CONN-3]",
  async () => {
    const rig = await startOAuth();
    await using gateway = await startGateway();
    await using browser = await launchBrowser();
    await using seen = await visit(browser, gateway, { hash: "#/connectors" });
    const { page, context, problems } = seen;
    await page.getByText("There are no connectors yet.", { exact: false }).waitFor();
    await page.evaluate(await readFile(AXE, "utf8"));
    const adding = page.getByRole("form", { name: "New connector" });
    const row = (name: string) =>
      page.getByRole("list", { name: "Connectors" }).locator(`> li[aria-label="${name}"]`);
    const button = (at: Locator, name: string) => at.getByRole("button", { name, exact: false });
    const confirm = (name: string) =>
      page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

    await page.getByText("New connector").first().click();
    await adding.getByLabel("Name", { exact: true }).fill("Echo");
    await adding.getByRole("combobox", { name: "Server" }).selectOption("stdio");
    await adding.getByRole("textbox", { name: "Program" }).fill(process.execPath);
    await adding
      .getByRole("textbox", { name: "Its arguments" })
      .fill(join(root, "test/fixtures/mcp-server.mjs"));
    await adding.getByRole("textbox", { name: "Its environment" }).fill("no pair");
    await button(adding, "Add").click();
    await adding.getByRole("alert").getByText("Write a name, then = and a value", { exact: false }).waitFor();
    await adding.getByRole("textbox", { name: "Its environment" }).fill("FIXTURE_MARK={mark}");
    await button(adding, "Add").click();
    const echo = row("Echo");
    await echo.getByText("Missing: mark").waitFor();
    await button(echo, "Test").click();
    await echo.getByRole("region", { name: "Test of Echo" }).locator(".failure").waitFor();

    await button(echo, "Paste secrets").click();
    const field = echo.getByLabel("mark (missing)");
    await button(echo, "Save").click();
    await echo.getByText("Paste a secret first.").waitFor();
    await field.fill(SECRET);
    await page.keyboard.press("Enter");
    await echo.getByText("Connected", { exact: true }).waitFor();
    expect(await echo.getByLabel("mark (stored)").inputValue()).toBe("");
    await button(echo, "Test").click();
    await echo.getByText("It works and has 4 tools.").waitFor();
    expect(await echo.getByRole("list", { name: "Tools" }).locator("code").allTextContents()).toContain(
      "picture",
    );
    expect(await faults(page, "tested")).toEqual([]);
    const kept = () =>
      page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.body.innerHTML]));
    expect(await kept()).not.toContain(SECRET);

    const held = async () => {
      const { body } = await gateway.json("GET", "/api/v1/agents/assistant");
      return (body.agent as { connectors: Record<string, unknown> }).connectors.echo;
    };
    await button(echo, "Agents").click();
    const choice = echo.getByRole("combobox", { name: /^assistant:/ });
    await choice.selectOption("off");
    await echo.getByText("assistant: does not have it").waitFor();
    expect(await echo.getByText("second: has it").count()).toBe(1);
    expect(await held()).toEqual({ enabled: false, effective: false });
    await choice.selectOption("default");
    await expect.poll(held).toEqual({ enabled: null, effective: true });
    await button(echo, "Edit").click();
    const editing = page.getByRole("form", { name: "Edit Echo" });
    await editing.getByLabel("What it is for").fill("Says it again");
    await editing.getByLabel("Only for agents that are switched on").check();
    await button(editing, "Save").click();
    await echo.locator("p span", { hasText: "Says it again" }).waitFor();
    expect(await held()).toEqual({ enabled: null, effective: false });

    await adding.getByLabel("Name", { exact: true }).fill("Tools");
    await adding.getByRole("combobox", { name: "Server" }).selectOption("http");
    await adding.getByRole("combobox", { name: "What lets the gateway in" }).selectOption("sign-in");
    await adding.getByRole("textbox", { name: "Address" }).fill(rig.url);
    await button(adding, "Add").click();
    const tools = row("Tools");
    await tools.getByText("Not signed in").waitFor();
    rig.is.registration = "refused";
    await button(tools, "Sign in").click();
    await tools.getByRole("alert").waitFor();
    rig.is.registration = "open";
    await button(tools, "Sign in").click();
    await button(tools, "Sign in").click();
    const link = tools.getByRole("link", { name: /^Sign in at 127\.0\.0\.1:/ });
    await link.focus();
    expect(await faults(page, "sign-in")).toEqual([]);
    const [other] = await Promise.all([context.waitForEvent("page"), page.keyboard.press("Enter")]);
    await other.getByRole("heading", { name: "Connected" }).waitFor();
    await other.close();
    await tools.getByText("Connected", { exact: true }).waitFor();
    await tools.getByText("You have signed in.").waitFor();
    expect(await kept()).not.toMatch(/access-[0-9a-f]{24}/);

    await page.route("**/api/v1/connectors", async (route) => {
      const reply = (await (await route.fetch()).json()) as { connectors: { id: string }[] };
      const refresh = { consecutiveFailures: 2, permanentFailures: 0, nextAttemptAt: Date.now() + 60_000 };
      const connectors = reply.connectors.map((one) => (one.id === "tools" ? { ...one, refresh } : one));
      await route.fulfill({ json: { ...reply, connectors } });
    });
    await page.goto(`${gateway.url}/dashboard?connector_oauth_error=access_denied#/connectors`);
    await page.getByText("The provider was told not to allow it.", { exact: false }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    await tools.getByText("Its access could not be renewed (2 times in a row).", { exact: false }).waitFor();
    await page.unroute("**/api/v1/connectors");

    await button(tools, "Disconnect…").click();
    await confirm("Disconnect");
    await tools.getByText("Not signed in").waitFor();
    await button(echo, "Remove…").focus();
    await page.keyboard.press("Enter");
    await confirm("Remove");
    await echo.waitFor({ state: "detached" });
    expect(await held()).toBeUndefined();
    expect(rig.faults).toEqual([]);
    expect(problems).toEqual([]);
  },
  60_000,
);
