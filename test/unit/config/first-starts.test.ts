import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readDotenv } from "../../../packages/gateway/src/config/index.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";
import { root } from "../../harness.ts";

it("the first run agrees on one key when several starts come at the same moment", async () => {
  for (let round = 0; round < 3; round++) {
    const home = join(await tempFolder(), "new");
    const script = join(root, "test/fixtures/first-start.mjs");
    const env = { ...process.env, GATEWAY_HOME: home };
    const starts = Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, [script], { env }));
    const printed = (await Promise.all(starts)).map(({ stdout }) => stdout.trim()).filter(Boolean);
    const { GATEWAY_ADMIN_KEY } = await readDotenv(join(home, ".env"));
    expect(new Set(printed)).toEqual(new Set([GATEWAY_ADMIN_KEY]));
  }
});
