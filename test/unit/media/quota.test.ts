import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createQuota } from "../../../packages/gateway/src/media/quota.ts";
import { manualClock } from "../../fixtures/manual-clock.ts";
import { tempFolder } from "../../fixtures/temp-home.ts";

async function* chunks(...sizes: number[]) {
  for (const size of sizes) yield new Uint8Array(size);
}

async function rig(limit: number) {
  const folder = await tempFolder();
  const clock = manualClock();
  const make = () => createQuota({ folderOf: (id) => join(folder, id), limit: () => limit, clock });
  const put = async (name: string, size: number) => {
    await mkdir(join(folder, "a", "2026-01"), { recursive: true });
    await writeFile(join(folder, "a", "2026-01", name), Buffer.alloc(size));
  };
  return { folder, clock, make, put };
}
type Quota = ReturnType<typeof createQuota>;

/** Reads a file through the meter, as the store does. */
async function add(quota: Quota, agentId: string, ...sizes: number[]): Promise<"kept" | string> {
  const { content, release } = await quota.meter(agentId, chunks(...sizes));
  try {
    for await (const _chunk of content);
    return "kept";
  } catch (error) {
    release();
    return (error as { code: string }).code;
  }
}

describe("the quota of an agent's media folder", () => {
  it("counts what is there at a start, then what is added, each agent for itself [SPACE-1]", async () => {
    const { make, put } = await rig(100);
    await put("old.png", 60);
    const quota = make();
    expect(await add(quota, "a", 20, 10)).toBe("kept");
    expect(await add(quota, "a", 5, 6)).toBe("QUOTA_EXCEEDED");
    // What did not become a file is given back.
    expect(await add(quota, "a", 10)).toBe("kept");
    expect(await add(quota, "a", 1)).toBe("QUOTA_EXCEEDED");
    expect(await add(quota, "b", 100)).toBe("kept");
  });

  it("does not look at the folder again for each file, but does when it seems full [SPACE-1]", async () => {
    const { make, put, folder, clock } = await rig(100);
    await put("old.png", 100);
    const quota = make();
    expect(await add(quota, "a", 1)).toBe("QUOTA_EXCEEDED");
    await rm(join(folder, "a"), { recursive: true });
    expect(await add(quota, "a", 1)).toBe("QUOTA_EXCEEDED");
    clock.advance(30_000);
    expect(await add(quota, "a", 100)).toBe("kept");
    await put("foreign.png", 50);
    expect(await add(quota, "a", 0)).toBe("kept");
  });

  it("counts a folder again that has been emptied since, before it refuses a file [SPACE-1]", async () => {
    const { make, put, folder, clock } = await rig(100);
    await put("old.png", 90);
    const quota = make();
    expect(await add(quota, "a", 10)).toBe("kept");
    await rm(join(folder, "a"), { recursive: true });
    clock.advance(30_000);
    expect(await Promise.all([add(quota, "a", 20, 20), add(quota, "a", 20, 20)])).toEqual(["kept", "kept"]);
    expect(await add(quota, "a", 21)).toBe("QUOTA_EXCEEDED");
    expect(await add(quota, "a", 20)).toBe("kept");
  });

  it("counts a folder again that could not be counted [FAULT-4]", async () => {
    const { folder, clock } = await rig(100);
    let fails = true;
    const folderOf = () => {
      if (fails) throw new Error("too many open files");
      return join(folder, "a");
    };
    const quota = createQuota({ folderOf, limit: () => 100, clock });
    await expect(add(quota, "a", 1)).rejects.toThrow("too many");
    fails = false;
    expect(await add(quota, "a", 1)).toBe("kept");
  });

  it("holds for files that come at the same time [SPACE-1]", async () => {
    const { make } = await rig(100);
    const quota = make();
    const all = await Promise.all(Array.from({ length: 20 }, () => add(quota, "a", 5, 5)));
    expect(all.filter((end) => end === "kept").length).toBeLessThanOrEqual(10);
    expect(await add(quota, "a", 101)).toBe("QUOTA_EXCEEDED");
  });
});
