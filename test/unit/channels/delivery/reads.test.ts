import { expect, it } from "vitest";
import { memoryDatabase } from "../../../fixtures/memory-db.ts";
import { settled, startDelivery, UNKNOWN } from "./harness.ts";

it("settles a row whose outcome could not be judged at first, and repeats nothing because of it [CH-READ-2]", async () => {
  const db = memoryDatabase();
  const { all } = db;
  const reads = { count: 0, failures: 0 };
  db.all = (sql, params) => {
    // The second of these reads comes after the provider's answer.
    if (sql.includes("purpose = 'progress'") && ++reads.count >= 2 && reads.failures < 3) {
      reads.failures++;
      throw new Error("disk I/O error");
    }
    return all(sql, params);
  };
  const rig = startDelivery({ db });
  rig.repeatIf(() => true);
  rig.answers.push(UNKNOWN);
  await rig.put(["one"], { inbox: 1, replaces: true });
  expect(reads.failures).toBeGreaterThan(0);
  for (let n = 0; n < 20; n++) {
    rig.clock.advance(1_000);
    await settled();
  }
  expect(rig.texts()).toEqual(["one", "one"]);
  expect(rig.states()).toEqual(["sent"]);
});

it("settles a row also when its outcome cannot be counted [CH-READ-2]", async () => {
  const rig = startDelivery();
  rig.outcomes.push = () => {
    throw new Error("disk I/O error");
  };
  await rig.put(["one", "two"]);
  for (let n = 0; n < 5; n++) {
    rig.clock.advance(1_000);
    await settled();
  }
  expect(rig.texts()).toEqual(["one", "two"]);
  expect(rig.states()).toEqual(["sent", "sent"]);
});

it("sends what waits once the outbox can be read [CH-READ-2]", async () => {
  const db = memoryDatabase();
  const rig = startDelivery({ db });
  rig.connect(false);
  await rig.put(["one"]);
  const { all } = db;
  let failures = 0;
  db.all = (sql, params) => {
    if (failures < 2) {
      failures++;
      throw new Error("disk I/O error");
    }
    return all(sql, params);
  };
  rig.connect(true);
  for (let n = 0; n < 5; n++) {
    rig.clock.advance(1_000);
    await settled();
  }
  expect(rig.texts()).toEqual(["one"]);
});
