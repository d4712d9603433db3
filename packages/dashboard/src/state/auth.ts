import { signal } from "@preact/signals";
import { client, onLoggedOut, sentence } from "../api/client.ts";

/**
 * `keyless`: the gateway has no keys and listens on loopback, so its status is open, but the agents need a key.
 * `unreachable`: it did not answer.
 */
export type Auth = "loading" | "out" | "in" | "keyless" | "unreachable";

export const auth = signal<Auth>("loading");
export const version = signal("");
/** Why the login form is shown, when it is not the first time. */
export const loginReason = signal("");

onLoggedOut(() => {
  if (auth.value !== "in") return;
  loginReason.value = "Your session has expired. Log in again to continue where you left off.";
  auth.value = "out";
});

/** Asks the gateway whether this browser is logged in. */
export async function checkLogin(): Promise<void> {
  try {
    const session = await client.call("dashboardSession");
    version.value = session.version;
    auth.value = session.authenticated ? "in" : session.required ? "out" : "keyless";
  } catch (error) {
    loginReason.value = sentence(error);
    auth.value = "unreachable";
  }
}

/** @throws GatewayError when the key is wrong or not an admin key */
export async function login(key: string): Promise<void> {
  await client.call("dashboardLogin", { body: { key } });
  loginReason.value = "";
  auth.value = "in";
}

export async function logout(): Promise<void> {
  await client.call("dashboardLogout");
  loginReason.value = "You are logged out.";
  auth.value = "out";
}
