import { expect, test } from "vitest";
import { runTurn } from "../open-options.ts";
import { openFake as open } from "./open-fake.ts";

test("a known program that goes on asking its model is ended, with the cause [RETRY-6]", async () => {
  const hint = (attempt: number) => `STDERR Attempt ${attempt} failed with status 429, retrying`;
  const known = await open({ name: "opencode" });
  const { outcome } = await runTurn(known, `${hint(4)}\nWAIT`);
  expect(outcome).toMatchObject({
    status: "failed",
    error: "The model provider limits the rate of requests (429). The agent gave up after 3 retries.",
  });
  expect((await runTurn(known, "SAY next")).outcome).toMatchObject({ status: "done", text: "next" });
  expect((await runTurn(known, `${hint(3)}\nSAY there`)).outcome).toMatchObject({ text: "there" });
  const unknown = await open();
  expect((await runTurn(unknown, `${hint(4)}\nSAY there`)).outcome).toMatchObject({ text: "there" });
});
