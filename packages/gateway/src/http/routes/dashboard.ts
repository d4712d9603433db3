import type { IncomingMessage } from "node:http";
import { GatewayError, routes } from "@agent-gateway/contract";
import {
  type Authenticator,
  type DashboardSessions,
  hasLevel,
  sessionCookie,
  sessionToken,
} from "../../auth/index.ts";
import type { Config } from "../../config/index.ts";
import { createDashboardFiles } from "../dashboard-files.ts";
import { type Endpoint, endpoint, json } from "../endpoint.ts";
import { isSecure } from "../secure.ts";

export interface DashboardDeps {
  sessions: DashboardSessions;
  authenticator: Authenticator;
  /** Called when a login was ended: what it has open must end, too. */
  onLogout(): void;
  config: () => Config;
  version: string;
  /** Absolute path of the built page; it need not exist. */
  directory: string;
}

/** The dashboard's page, its files and its login. */
export function dashboardRoutes(deps: DashboardDeps): Endpoint[] {
  const { sessions, authenticator, config, version } = deps;
  const files = createDashboardFiles(deps.directory);

  const place = (req: IncomingMessage) => ({
    secure: isSecure(req, config().gateway.publicUrl),
    port: req.socket.localPort ?? 0,
  });
  const tokenOf = (req: IncomingMessage) => sessionToken(req.headers.cookie, req.socket.localPort ?? 0);

  return [
    endpoint(routes.dashboardLogin, async ({ body, req }) => {
      if (!authenticator.configured()) {
        throw new GatewayError("UNAVAILABLE", "No key is configured, so no login is possible.");
      }
      const principal = authenticator.verify(Buffer.from(body.key.trim()), req.socket.remoteAddress ?? "");
      if (!hasLevel(principal, "admin")) {
        throw new GatewayError("FORBIDDEN", "The dashboard requires an admin key.");
      }
      const { token, expiresAt } = await sessions.open(principal.id);
      return json({ expiresAt }, 200, { "Set-Cookie": sessionCookie(token, place(req)) });
    }),
    endpoint(routes.dashboardLogout, async ({ req }) => {
      const token = tokenOf(req);
      if (token) await sessions.close(token).finally(deps.onLogout);
      return { status: 204, empty: true, headers: { "Set-Cookie": sessionCookie(null, place(req)) } };
    }),
    endpoint(routes.dashboardSession, ({ req }) => {
      const token = tokenOf(req);
      const authenticated = token !== undefined && sessions.check(token) !== undefined;
      return json({ authenticated, required: authenticator.configured(), version });
    }),
    endpoint(
      routes.dashboardPage,
      async ({ principal, req }) => {
        const page = await files.page(200);
        if (principal.kind !== "key") return page;
        const { token } = await sessions.open(principal.id);
        return { ...page, headers: { ...page.headers, "Set-Cookie": sessionCookie(token, place(req)) } };
      },
      { unauthorized: () => files.page(401) },
    ),
    endpoint(routes.dashboardAsset, ({ params, req }) => files.asset(params["*"], req)),
  ];
}
