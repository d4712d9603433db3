import type { IncomingMessage } from "node:http";
import { GatewayError, initRequest, pairedTicketRequest, routes } from "@agent-gateway/contract";
import type * as z from "zod";
import type { Config } from "../../config/index.ts";
import { parseCookies } from "../../lib/cookies.ts";
import type { Terminal } from "../../terminal/index.ts";
import { createDashboardFiles } from "../dashboard-files.ts";
import { type Endpoint, endpoint, json, type RequestContext } from "../endpoint.ts";
import { validationError } from "../errors.ts";
import { isSecure } from "../secure.ts";

export interface PairingRouteDeps {
  terminal: Terminal;
  config: () => Config;
  /** Absolute path of the built pages. */
  directory: string;
}

const BROWSER = "cli_pair";
const VIEWER = "cli_session";
/** Its web client shows the page in a frame. */
const BOTCHAT_FRAMES = "https://web.telegram.org https://*.telegram.org";
const GONE =
  '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
  "<title>Link expired</title><p>This link is unknown or has expired. Send <code>/cli</code> again in the chat.</p></html>";

type Context = Pick<RequestContext, "req"> & { params: { pairingId: string } };

/** The pages that `/cli` leads to, and what they ask for. */
export function pairingRoutes({ terminal, config, directory }: PairingRouteDeps): Endpoint[] {
  const files = createDashboardFiles(directory);
  const room = async () => (await terminal.room()).pairing;
  const cookie = ({ req }: Context, name: string) => parseCookies(req.headers.cookie).get(name) || undefined;

  /** `Set-Cookie` of a pairing: below its own address alone. */
  const cookieFor = (req: IncomingMessage, name: string, token: string, channel: string): string => {
    // The page asks for `<address>/bind`, and for `<address>/status`.
    const path = (req.url as string).split("?")[0]!.replace(/\/[a-z]+$/, "");
    const secure = isSecure(req, config().gateway.publicUrl) ? "; Secure" : "";
    const site = channel === "botchat" ? "SameSite=None; Partitioned" : "SameSite=Strict";
    return `${name}=${token}; Path=${path}; HttpOnly; ${site}${secure}`;
  };
  const gonePage = () => ({
    status: 404,
    headers: { "Content-Type": "text/html; charset=utf-8" },
    bytes: GONE,
  });
  const isGone = (error: unknown) => error instanceof GatewayError && error.status === 404;
  const page = (name: "cli" | "viewer", depth: string, channel: string) =>
    files.document(`${name}.html`, {
      assets: depth,
      frames: channel === "botchat" ? BOTCHAT_FRAMES : undefined,
    });
  const checked = <T>(schema: z.ZodType<T>, body: unknown): T => {
    const result = schema.safeParse(body);
    if (!result.success) throw validationError(result.error.issues, "body");
    return result.data;
  };

  return [
    endpoint(routes.pairingPage, async ({ params }) => {
      const pairing = (await room()).find(params.pairingId);
      return pairing ? page("cli", "assets/", pairing.asker.channel) : gonePage();
    }),
    endpoint(routes.bindPairing, async ({ params, req }) => {
      const pairings = await room();
      const token = pairings.bind(params.pairingId);
      const { channel } = pairings.find(params.pairingId)!.asker;
      return { status: 204, empty: true, headers: { "Set-Cookie": cookieFor(req, BROWSER, token, channel) } };
    }),
    endpoint(routes.pairingStatusOf, async (context) => {
      const { params, req } = context;
      const pairings = await room();
      const { viewer, ...status } = pairings.status(params.pairingId, cookie(context, BROWSER));
      if (viewer === undefined) return json(status);
      const { channel } = pairings.find(params.pairingId)!.asker;
      return json(status, 200, { "Set-Cookie": cookieFor(req, VIEWER, viewer, channel) });
    }),
    endpoint(routes.initPairing, async (context) => {
      const { params, body } = context;
      await (await room()).init(
        params.pairingId,
        cookie(context, BROWSER),
        () => checked(initRequest(), body).initData,
      );
      return { status: 204, empty: true };
    }),
    endpoint(routes.pairedView, async (context) => {
      const pairings = await room();
      const { pairingId } = context.params;
      try {
        await pairings.view(pairingId, cookie(context, VIEWER));
      } catch (error) {
        if (isGone(error)) return gonePage();
        throw error;
      }
      return page("viewer", "../assets/", pairings.find(pairingId)?.asker.channel ?? "");
    }),
    endpoint(routes.pairedSessionsOf, async (context) =>
      json(await (await room()).sessions(context.params.pairingId, cookie(context, VIEWER))),
    ),
    endpoint(routes.pairedTicket, async (context) => {
      const { params, body } = context;
      const sessionId = () => checked(pairedTicketRequest(), body).sessionId;
      return json(await (await room()).ticket(params.pairingId, cookie(context, VIEWER), sessionId));
    }),
    endpoint(routes.pairingAsset, ({ params, req }) => files.asset(`assets/${params["*"]}`, req)),
  ];
}
