import { setTimeout as pause } from "node:timers/promises";
import { askFor } from "../ask.ts";
import { CliError } from "../errors.ts";
import { last } from "../flags.ts";
import { note, print, printJson } from "../output.ts";
import { type ChannelsCall, needed } from "./call.ts";
import { drawQr } from "./qr.ts";

const ASK_EVERY_MS = 1_000;

/** `devicechat link <agent>`: shows each QR code and waits until a phone has scanned one. */
export async function linkCommand({ connection, parsed, words, json }: ChannelsCall): Promise<number> {
  const params = { agentId: needed(words[0], "agent") };
  const account = last(parsed, "account");
  const own = account === undefined ? {} : { account_id: account };
  const begun = await askFor(connection, "linkDevice", { params, body: own });
  if (json) {
    await printJson(begun);
    return 0;
  }
  const query = { account_id: begun.account_id };
  // The clock's timers do not keep a program alive, and nothing else here does.
  for (let shown: string | undefined; ; await pause(ASK_EVERY_MS)) {
    const { status, qr, phoneNumber } = await askFor(connection, "deviceStatus", { params, query });
    if (status === "linked") {
      await print(`Linked${phoneNumber ? `: ${phoneNumber}` : ""}.\n`);
      return 0;
    }
    if (status === "unlinked") throw new CliError("No phone scanned the code in time.");
    if (qr === undefined || qr === shown) continue;
    shown = qr;
    const drawing = drawQr(qr);
    if (drawing === undefined) throw new CliError("Cannot draw this code here; the dashboard shows it.");
    await print(drawing);
    note("Scan it with the phone: Settings, Linked devices, Link a device. Press Ctrl-C to stop waiting.");
  }
}
