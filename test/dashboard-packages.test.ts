import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { expect, it } from "vitest";
import { hasBrowser, launchBrowser, visit } from "./fixtures/browser.ts";
import { fakeNpm } from "./fixtures/fake-npm.ts";
import { cutOff } from "./fixtures/layout.ts";
import { bin, startGateway, until } from "./harness.ts";
import { LISTENING, startProgram } from "./program.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

it.skipIf(!hasBrowser)(
  "the System page shows what is new before it updates, what failed, and waits for the gateway to be back [PKG-15]",
  async () => {
    const npm = await fakeNpm();
    const env = { PATH: npm.path, GATEWAY_SUPERVISED: "1" };
    await using gateway = await startGateway({ env });
    await using browser = await launchBrowser();
    await using seen = await visit(browser, gateway, {
      hash: "#/system",
      viewport: { width: 320, height: 700 },
    });
    const { page, problems } = seen;
    const region = page.getByRole("region", { name: "Updates", exact: true });
    const look = region.getByRole("button", { name: "Look for updates" });
    await look.waitFor();
    expect(npm.calls()).toEqual([]);

    await npm.reset({ modes: { view: "fail" } });
    await look.click();
    await region.getByText("The package registry could not be asked about", { exact: false }).waitFor();
    const changelog = "## [1.3.0] - 2026-02-03\n- **Faster** than before\n";
    await npm.reset({
      changelog,
      modes: { pack: "slow" },
      check: { "1.3.0": "echo agents is wrong; exit 1" },
    });
    await look.click();
    const own = region.getByRole("region", { name: "Gateway" });
    await own
      .getByText("Version 1.3.0 is available; 1.2.0 is installed. Version 0.1.0 is running.")
      .waitFor();
    const button = own.getByRole("button", { name: "Update to 1.3.0" });
    expect(await button.count()).toBe(0);
    await npm.go();
    await button.waitFor();
    expect(await own.getByRole("region", { name: "What is new" }).textContent()).toBe(
      "1.3.0 2026-02-03Faster than before",
    );
    await page.evaluate(await readFile(AXE, "utf8"));
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate(() =>
        (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
          resultTypes: ["violations"],
        }),
      );
      expect(violations.filter(({ impact }) => impact === "serious" || impact === "critical")).toEqual([]);
    }
    expect(await cutOff(page)).toEqual([]);

    const update = async () => {
      await button.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name: "Update", exact: true }).click();
    };
    await update();
    await own.getByText("Version 1.2.0 is in place again.", { exact: false }).waitFor();
    await own.getByText("agents is wrong").waitFor();
    await npm.reset({ changelog });
    await update();
    await own.getByText("The gateway is starting again", { exact: false }).waitFor();
    await until(() => gateway.process.exitCode === 75, "the gateway to end");
    const reloaded = page.waitForEvent("load");
    const again = startProgram([process.execPath, bin, "start", "--port", new URL(gateway.url).port], {
      env: { ...env, GATEWAY_HOME: gateway.home },
    });
    await again.says(LISTENING);
    await reloaded;
    await page.getByRole("heading", { level: 1, name: "System" }).waitFor();
    await region.getByRole("button", { name: "Look for updates" }).waitFor();
    expect(problems).toEqual([]);
    again.process.kill("SIGTERM");
    await again.ended;
    await npm.remove();
  },
  60_000,
);
