import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError, routes } from "@agent-gateway/contract";
import { expect, it } from "vitest";
import type { AgentConfig } from "../../../packages/gateway/src/config/index.ts";
import {
  createDeviceSend,
  type DeviceSendDeps,
} from "../../../packages/gateway/src/http/routes/channels/device-send.ts";
import { systemClock } from "../../../packages/gateway/src/lib/clock.ts";

const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(1000)]);

it("copies no image while the disk is below its floor [SEND-SPACE-1]", async () => {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "gateway-unit-")));
  const asked: number[] = [];
  const done: string[] = [];
  const deps: DeviceSendDeps = {
    clock: systemClock,
    findDevice: () => undefined,
    async sendNow() {
      done.push("sent");
      return { status: "sent" };
    },
    lastInboundAccount: async () => undefined,
    access: async () => ({ allowed: async () => true, forget: async () => {} }),
    roots: () => [workspace],
    takeSpace(bytes) {
      asked.push(bytes);
      throw new GatewayError("UNAVAILABLE", "full");
    },
    async keepFile(_agent, _file, name) {
      done.push("kept");
      return { path: "/x", mime: "image/png", name };
    },
    split: async (text) => [text],
  };
  try {
    const image = join(workspace, "dot.png");
    await writeFile(image, PNG);
    const agent = {
      id: "a",
      devicechat: { enabled: true, accounts: [{ id: "default" }] },
    } as unknown as AgentConfig;
    const body = { jid: "1@s.whatsapp.net", image_path: image, account_id: "default" };
    const sending = createDeviceSend(deps)(agent, body);
    await expect(sending).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(asked).toEqual([PNG.length]);
    expect(done).toEqual([]);
    // The route itself is refused below the floor, as every one that stores something.
    expect(routes.sendThroughDevice.stores).toBe(true);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
});
