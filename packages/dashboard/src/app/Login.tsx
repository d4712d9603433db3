import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sentence } from "../api/client.ts";
import { Logo } from "../components/Icon.tsx";
import { checkLogin, login, loginReason } from "../state/auth.ts";

export function Login() {
  const failure = useSignal("");
  const busy = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);

  const submit = async (event: Event) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    if (key === "") {
      failure.value = "Enter an admin key.";
      input.current?.focus();
      return;
    }
    busy.value = true;
    failure.value = "";
    try {
      await login(key);
    } catch (error) {
      failure.value = sentence(error);
      input.current?.select();
    } finally {
      busy.value = false;
    }
  };

  return (
    <main class="login">
      <form class="card" onSubmit={submit} noValidate>
        <h1>
          <Logo /> Agent Gateway
        </h1>
        {loginReason.value && <p role="status">{loginReason.value}</p>}
        <label for="key">Admin key</label>
        <input
          ref={input}
          id="key"
          name="key"
          type="password"
          class="input"
          autocomplete="current-password"
          spellcheck={false}
          aria-describedby="key-help key-error"
          aria-invalid={failure.value !== ""}
        />
        <p id="key-help" class="hint">
          The gateway printed it when it first started, and keeps it as <code>GATEWAY_ADMIN_KEY</code> in the{" "}
          <code>.env</code> file of its home folder.
        </p>
        <p id="key-error" class="failure" role="alert">
          {failure.value}
        </p>
        <button type="submit" class="button primary" disabled={busy.value}>
          {busy.value ? "Logging in…" : "Log in"}
        </button>
      </form>
    </main>
  );
}

/** Stands in for the page when the gateway does not answer. */
export function GatewayClosed() {
  return (
    <main class="login">
      <div class="card">
        <h1>
          <Logo /> Agent Gateway
        </h1>
        <p role="alert">{loginReason.value}</p>
        <button type="button" class="button primary" onClick={checkLogin}>
          Try again
        </button>
      </div>
    </main>
  );
}
