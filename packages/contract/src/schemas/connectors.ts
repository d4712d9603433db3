import * as z from "zod";
import { lazy } from "../lazy.ts";
import { label as oneLine } from "./common.ts";

/** Form of a connector's id; some of this form are the gateway's own. */
export const CONNECTOR_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
/** Most entries of one map. */
const MAX_ENTRIES = 200;
const MAX_CONFIG_CHARS = 64 * 1024;
const MAX_SECRET_CHARS = 64 * 1024;

export const connectorId = lazy(() =>
  z.string().regex(CONNECTOR_ID, { error: "must be a-z 0-9 -, up to 64 characters, and not begin with -" }),
);
export const connectorParams = lazy(() => z.object({ id: z.string() }));

/** Switches of an agent; null takes one back. */
export const connectorSwitches = lazy(() =>
  z
    .record(connectorId(), z.strictObject({ enabled: z.boolean() }).nullable())
    .refine((map) => Object.keys(map).length <= MAX_ENTRIES, { error: `at most ${MAX_ENTRIES} at once` }),
);
/** The connectors of an agent's record. */
export const agentConnectors = lazy(() =>
  z.record(
    z.string(),
    z.object({
      enabled: z.boolean().nullable().describe("The agent's own switch; null while the default holds."),
      effective: z.boolean().describe("Whether the connector is connected and the agent may use it."),
    }),
  ),
);

const label = lazy(() => oneLine(200).refine((text) => text.trim() !== "", { error: "must not be empty" }));
const description = lazy(() => z.string().max(2000));
const config = lazy(() =>
  z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= MAX_CONFIG_CHARS, { error: "is too long" })
    .describe(
      "MCP server: `command`, `args`, `env`, or `type` (`http` or `sse`), `url`, `headers`; with `{placeholder}`s for secrets in `env`, `url` and `headers`.",
    ),
);
const secret = lazy(() =>
  z
    .string()
    .min(1, { error: "must not be empty" })
    .max(MAX_SECRET_CHARS)
    .refine((text) => !/[\r\n\0]/.test(text), { error: "must be one line" }),
);
const secrets = lazy(() =>
  z
    .record(z.string(), secret())
    .refine((map) => Object.keys(map).length <= MAX_ENTRIES, { error: `at most ${MAX_ENTRIES}` })
    .describe("Secrets by placeholder; never shown."),
);
const defaultEnabled = lazy(() =>
  z.boolean().describe("If false, each agent must be switched on by itself."),
);

const refresh = lazy(() =>
  z
    .object({
      consecutiveFailures: z.number(),
      permanentFailures: z.number().describe("Refusals of the server in a row."),
      nextAttemptAt: z.number().nullable().describe("Unix ms."),
      unrefreshable: z.literal(true).optional().describe("Only a new sign-in helps."),
    })
    .optional()
    .describe("Only while the access token cannot be refreshed."),
);
export const connectorStatus = lazy(() =>
  z.object({ id: z.string(), connected: z.boolean(), refresh: refresh() }),
);
export const connectorState = lazy(() => z.object({ id: z.string(), connected: z.boolean() }));
export const connector = lazy(() =>
  z.object({
    ...connectorStatus().shape,
    label: z.string(),
    description: z.string(),
    credentialOwner: z
      .enum(["none", "static", "gateway", "external"])
      .describe("Who holds the secrets: `gateway` signs in itself, `external` means another program."),
    secretNames: z.array(z.string()).describe("The placeholders."),
    missing: z.array(z.string()).describe("Placeholders without a secret."),
    defaultEnabled: defaultEnabled().optional(),
  }),
);
export const connectorList = lazy(() =>
  z.object({
    connectors: z.array(connector()),
    capabilities: z.object({ perConnectorDefaults: z.literal(true) }),
  }),
);

export const addConnector = lazy(() =>
  z.strictObject({
    label: label(),
    config: config(),
    secrets: secrets().optional(),
    description: description().optional(),
    defaultEnabled: defaultEnabled().optional(),
    oauth: z
      .boolean()
      .describe("The gateway signs in by OAuth; `config` has a `url` and `{access_token}`.")
      .optional(),
  }),
);
export const addedConnector = lazy(() =>
  z.object({ id: z.string(), label: z.string(), connected: z.boolean() }),
);
export const updateConnector = lazy(() =>
  z.strictObject({
    label: label().optional(),
    description: description().optional(),
    config: config().optional(),
    defaultEnabled: defaultEnabled().optional(),
  }),
);
export const connectConnector = lazy(() =>
  z
    .strictObject({
      token: secret().describe("The secret of a connector that needs exactly one.").optional(),
      secrets: secrets().optional(),
    })
    .refine(({ token, secrets: named }) => (token === undefined) !== (named === undefined), {
      error: "either token or secrets must be given",
    }),
);
export const receiveConnector = lazy(() =>
  z.strictObject({
    access_token: secret(),
    label: label(),
    config: config(),
    description: description().optional(),
    defaultEnabled: defaultEnabled().optional(),
  }),
);
export const testedConnector = lazy(() =>
  z.object({
    ok: z.boolean(),
    tools: z.array(z.object({ name: z.string(), description: z.string() })),
    error: z.string().optional(),
  }),
);
export const removeQuery = lazy(() =>
  z.object({
    remove: z
      .enum(["true", "false"], { error: "must be true or false" })
      .describe("Also removes the entry and the agents' switches.")
      .optional()
      .transform((text) => text === "true"),
  }),
);

export type AgentRecordConnectors = z.output<ReturnType<typeof agentConnectors>>;
export type ConnectorRecord = z.input<ReturnType<typeof connector>>;
export type AddConnector = z.output<ReturnType<typeof addConnector>>;
export type UpdateConnector = z.output<ReturnType<typeof updateConnector>>;
export type ConnectConnector = z.output<ReturnType<typeof connectConnector>>;
export type ReceiveConnector = z.output<ReturnType<typeof receiveConnector>>;
