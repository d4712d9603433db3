import { expect, it } from "vitest";
import { createSlots } from "../../../packages/gateway/src/lib/slots.ts";

it("a wait for a slot ends when it is aborted, and takes none from the others [CRON-14]", async () => {
  const take = createSlots(1);
  const free = await take();
  const impatient = new AbortController();
  const order: string[] = [];
  const left = take(impatient.signal).then((give) => {
    order.push("left");
    give();
  });
  const next = take().then((give) => {
    order.push("next");
    return give;
  });
  impatient.abort();
  await left;
  (await take(impatient.signal))();
  expect(order).toEqual(["left"]);
  free();
  const give = await next;
  const last = take().then(() => order.push("last"));
  give();
  await last;
  expect(order).toEqual(["left", "next", "last"]);
});
