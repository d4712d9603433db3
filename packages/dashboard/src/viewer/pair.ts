import "../app/styles/base.css";
import "./viewer.css";
import { GatewayError } from "@agent-gateway/contract";
import { wait } from "../state/wait.ts";
import { client, params, sentence, viewAddress } from "./place.ts";

const POLL_MS = 1500;

const text = document.getElementById("text") as HTMLElement;
const code = document.getElementById("code") as HTMLElement;

const status = () => client.call("pairingStatusOf", { params });

/** The state of the link, which belongs to this browser from now on. */
async function own() {
  try {
    return await status();
  } catch (error) {
    if (!(error instanceof GatewayError) || error.status !== 403) throw error;
  }
  await client.call("bindPairing", { params });
  return status();
}

async function run(): Promise<void> {
  let now = await own();
  // The chat's app hands over what it has signed.
  const initData = new URLSearchParams(location.hash.slice(1)).get("tgWebAppData");
  if (initData && now.state === "waiting") await client.call("initPairing", { params, body: { initData } });
  for (;;) {
    if (now.state === "approved") return location.replace(viewAddress);
    if (now.state === "denied") {
      code.textContent = "";
      text.textContent = "The request was denied in the chat.";
      return;
    }
    code.textContent = now.code;
    text.textContent = "Compare this code with the one in the chat, and approve there if both are the same.";
    await wait(POLL_MS);
    now = await status();
  }
}

run().catch((error) => {
  code.textContent = "";
  text.textContent = sentence(error);
});
