import { routes } from "@agent-gateway/contract";
import type { OAuth, Outcome } from "../../connectors/index.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";

export interface ConnectorOAuthDeps {
  oauth: Pick<OAuth, "require" | "start" | "finish">;
  /** Where the browser goes in the end, instead of to a page of the gateway. */
  returnUrl(): string | undefined;
}

const AGAIN = "Start the sign-in again.";
const OUTCOMES: Readonly<Record<string, { status: number; text: string }>> = {
  expired_link: { status: 400, text: `This link has expired, or it was used already. ${AGAIN}` },
  missing_code: { status: 400, text: `The provider sent no code with its reply. ${AGAIN}` },
  connector_gone: { status: 409, text: "The connector was changed or removed during the sign-in." },
  exchange_failed: {
    status: 502,
    text: `The provider's reply could not be exchanged for access. ${AGAIN} If it fails again, look into the gateway's log.`,
  },
};
const DENIED = { status: 400, text: `The provider did not allow the sign-in. ${AGAIN}` };

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

function page(title: string, text: string, code?: string): string {
  const mark = code === undefined ? "" : `<p>Code: <code>${escapeHtml(code)}</code></p>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<h1>${title}</h1>
<p>${escapeHtml(text)}</p>
${mark}
</html>
`;
}

function plain(outcome: Outcome) {
  const headers = { "Content-Type": "text/html; charset=utf-8" };
  if ("connected" in outcome) {
    const text = `${outcome.connected} is connected. You can close this page.`;
    return { status: 200, headers, bytes: page("Connected", text) };
  }
  const { status, text } = (outcome.provider ? undefined : OUTCOMES[outcome.code]) ?? DENIED;
  return { status, headers, bytes: page("Not connected", text, outcome.code) };
}

/** The sign-in to connectors. */
export function connectorOAuthRoutes({ oauth, returnUrl }: ConnectorOAuthDeps): Endpoint[] {
  return [
    endpoint(
      routes.startConnectorOAuth,
      async ({ params, signal }) => json(await oauth.start(params.id, signal)),
      { find: ({ id }) => oauth.require(id as string) },
    ),
    endpoint(routes.connectorOAuthCallback, async ({ req }) => {
      const url = req.url as string;
      const mark = url.indexOf("?");
      // A look at the page's head must not use up the sign-in.
      const query = new URLSearchParams(mark < 0 || req.method === "HEAD" ? "" : url.slice(mark));
      const outcome = await oauth.finish(query);
      const back = returnUrl();
      if (back === undefined) return plain(outcome);
      const target = new URL(back);
      if ("code" in outcome) target.searchParams.set("connector_oauth_error", outcome.code);
      return { status: 302, headers: { Location: target.href }, empty: true };
    }),
  ];
}
