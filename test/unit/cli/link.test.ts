import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { encode, renderSVG } from "uqr";
import { describe, expect, it, onTestFinished } from "vitest";
import { drawQr } from "../../../packages/gateway/src/cli/channels/qr.ts";
import { runCli } from "../../fixtures/cli.ts";

const TEXT = "2@what-a-phone-scans,and-more,0123456789";
const picture = (text: string) =>
  `data:image/svg+xml;base64,${Buffer.from(renderSVG(text, { border: 4 })).toString("base64")}`;

/** A gateway whose device goes from state to state, one for each question. */
async function device(...states: object[]) {
  const server = createServer((request, response) => {
    const linking = request.method === "POST";
    const state = linking ? { ok: true } : states.length > 1 ? states.shift() : states[0];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ account_id: "default", loggedOut: false, ...state }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { GATEWAY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("linking a phone from the shell", () => {
  it("draws the code as it is, dark on light [CH-CLI-3]", () => {
    const { data, size } = encode(TEXT, { border: 4 });
    const lines = drawQr(picture(TEXT))!.trimEnd().split("\n");
    expect(lines).toHaveLength(Math.ceil(size / 2));
    for (const [row, line] of lines.entries()) {
      expect(line.startsWith("\x1b[30;107m") && line.endsWith("\x1b[0m")).toBe(true);
      const drawn = [...line.slice(9, -4)].map((char) => ["▀█".includes(char), "▄█".includes(char)]);
      const wanted = data[row * 2]!.map((dark, x) => [dark, data[row * 2 + 1]?.[x] ?? false]);
      expect(drawn).toEqual(wanted);
    }
    expect(drawQr("data:image/png;base64,AAAA")).toBeUndefined();
  });

  it("shows each code once, until the phone has scanned one [CH-CLI-3]", async () => {
    const waiting = { status: "pending_scan" };
    const qr = picture(TEXT);
    const env = await device(
      waiting,
      { ...waiting, qr },
      { ...waiting, qr },
      { status: "linked", phoneNumber: "+661" },
    );
    const { code, stdout } = await runCli(["devicechat", "link", "assistant"], { env });
    expect([code, stdout]).toEqual([0, `${drawQr(qr)}Linked: +661.\n`]);
  });

  it("ends when nobody scanned, and does not wait for JSON [CH-CLI-3]", async () => {
    const env = await device({ status: "unlinked" });
    const ended = await runCli(["devicechat", "link", "assistant"], { env });
    expect([ended.code, ended.stderr]).toEqual([1, "No phone scanned the code in time.\n"]);
    const json = await runCli(["devicechat", "link", "assistant", "--json"], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, account_id: "default" });
  });
});
