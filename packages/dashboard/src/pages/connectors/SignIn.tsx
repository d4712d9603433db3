import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sentence } from "../../api/client.ts";
import type { Connector } from "../../api/types.ts";
import { startSignIn } from "../../state/connectors.ts";
import { announce } from "../../state/notices.ts";

/** Asks the gateway for the address of a sign-in and offers it as a link; then tells that it worked. */
export function SignIn({ connector: { id, label, connected } }: { connector: Connector }) {
  const address = useSignal<URL | undefined>(undefined);
  const failure = useSignal("");
  const before = useRef(connected).current;
  const done = connected && !before;
  useEffect(() => {
    let left = false;
    startSignIn(id).then(
      (url) => {
        if (left) return;
        if (/^https?:$/.test(url.protocol)) address.value = url;
        else failure.value = "The provider named an address that is no web page.";
      },
      (error: unknown) => {
        if (!left) failure.value = sentence(error);
      },
    );
    return () => {
      left = true;
    };
  }, [id]);
  useEffect(() => {
    if (done) announce(`${label} is connected.`);
  }, [done]);
  const url = address.value;
  return (
    <section class="save-form job-part" aria-label={`Sign-in to ${label}`}>
      {done ? (
        <p class="saved">You have signed in.</p>
      ) : failure.value !== "" ? (
        <p class="failure" role="alert">
          {failure.value}
        </p>
      ) : !url ? (
        <p class="hint" role="status">
          Asking where to sign in…
        </p>
      ) : (
        <>
          <p>
            <a class="button primary" href={url.href} target="_blank" rel="noopener noreferrer">
              Sign in at {url.host}
            </a>
          </p>
          <p class="hint">
            It opens in a new tab, which says how it ended
            {before ? "." : "; this page shows then that the connector is connected."} The link works once,
            for ten minutes.
          </p>
        </>
      )}
    </section>
  );
}
