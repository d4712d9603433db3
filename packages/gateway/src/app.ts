import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { GatewayError } from "@agent-gateway/contract";
import { createAgents } from "./agents/index.ts";
import { createAppChannels } from "./app-channels.ts";
import { createAppConnectors } from "./app-connectors.ts";
import { createAppCrons } from "./app-crons.ts";
import { createAppDevices } from "./app-devices.ts";
import { createAppGeneration } from "./app-generation.ts";
import { createAppHealing } from "./app-healing.ts";
import { createAppJobs } from "./app-jobs.ts";
import { createAppOAuth } from "./app-oauth.ts";
import { createAppOwners } from "./app-owners.ts";
import { createAppPackages, type Host } from "./app-packages.ts";
import { shutdownPhases } from "./app-shutdown.ts";
import { openRows } from "./app-store.ts";
import { createAppTerminal } from "./app-terminal.ts";
import { createAuthenticator, createDashboardSessions } from "./auth/index.ts";
import { checkToken, createAccess } from "./channels/index.ts";
import { type ConfigStore, type Env, type Paths, runsInTerminal } from "./config/index.ts";
import { createFeed } from "./events/index.ts";
import { createHistory } from "./history/index.ts";
import { createHttpServer, createStreamSlots, type Endpoint, routes } from "./http/index.ts";
import type { Clock } from "./lib/clock.ts";
import { dashboardFolder } from "./lib/entry.ts";
import { restrictState } from "./lib/guarded/index.ts";
import type { Logger } from "./lib/logger.ts";
import { createReaper } from "./lib/reaper.ts";
import { createMedia } from "./media/index.ts";
import { createAgentModels, createModels, readCliSettings } from "./models/index.ts";
import { createDisk, createMonitoring } from "./monitoring/index.ts";
import { announceRuntimes, createRuntimeFactory, sweepMcpFiles } from "./runtimes/index.ts";
import { createCommandRunner, createSessions } from "./sessions/index.ts";
import { createShares } from "./shares/index.ts";
import { publishStep } from "./steps.ts";
import { createUsage } from "./usage/index.ts";
import { VERSION } from "./version.ts";

export interface AppDeps extends Host {
  store: ConfigStore;
  paths: Paths;
  env: Env;
  clock: Clock;
  log: Logger;
  /** The thread that writes to an SQLite database, if it runs already; it has no file yet. */
  writer: Worker | undefined;
  /** Of this home. */
  homeId(): Promise<{ id: string; here: string }>;
  /** Gets each value that must not appear in logs, before it is used. */
  onSecret(value: string): void;
  /** Called when the gateway cannot continue: the database thread died. */
  fatal(): void;
}

/** The composition root: creates every room and wires it to the others. */
export async function createApp(deps: AppDeps) {
  const { store, paths, env, clock, log, writer, homeId, onSecret, fatal } = deps;
  const config = () => store.current;
  const agent = (id: string) => config().agents.find((entry) => entry.id === id);
  const requireAgent = (id: string) => {
    const found = agent(id);
    if (!found) throw new GatewayError("AGENT_NOT_FOUND");
    return found;
  };
  let port: number | undefined;

  const rows = await openRows({ store, paths, clock, log, writer, onSecret });
  void rows.died.then((error) => {
    log.error({ err: error }, "the database thread died; stopping the gateway");
    fatal();
  });
  const home = rows.shared && (await homeId());
  const owners = await createAppOwners({
    rows,
    env,
    config,
    clock,
    log,
    home: home?.here,
    rooms: () => ({ server, sessions, channels, crons, jobs, feed, history }),
    apply: () => applyConfig(),
  });
  const feed = createFeed({ store: rows, config: store, clock, log });
  const reaper = await createReaper({ dir: join(paths.home, "run/children"), log });
  const mcpNotes = join(paths.home, "run/mcp-files");
  await sweepMcpFiles(mcpNotes);
  const runtimes = createRuntimeFactory({
    env,
    clock,
    log,
    reaper,
    configDir: (id) => join(paths.agentDir(id), "cli"),
    mcpNotes,
    inTerminal: (id) => runsInTerminal(config(), id),
    ownPort: () => port,
  });
  const disk = createDisk({ home: paths.home, minFree: () => config().gateway.minFreeBytes, clock, log });
  const media = createMedia({ paths, config: store, clock, log, takeSpace: disk.take });
  const models = createModels({ config: store, env, readSettings: readCliSettings, fetch, clock, log });
  const history = createHistory({
    store: rows,
    clock,
    log,
    agents: () => config().agents,
    mediaDir: paths.mediaDir,
    spoolDir: join(paths.home, "run/imports"),
    home: home?.id,
    takeSpace: disk.take,
  });
  const monitoring = createMonitoring({
    config: store,
    clock,
    version: VERSION,
    places: () => sessions.places(),
    incidentOf: (id) => healing.openOf(id),
    dbUnits: () => rows.units,
    store: rows,
    diskFree: disk.free,
    connections: () => server.connections().open,
    channels: () => channels.reports(),
    runtime: (id) => runtimes.status(requireAgent(id)),
  });
  rows.measure(monitoring.store);
  const shares = createShares({
    store: rows,
    paths,
    config: store,
    clock,
    log,
    keepImage: media.keepImage,
    keepFile: media.keepFile,
  });
  const connectors = createAppConnectors({ ...deps, feed, reaper });
  const packages = createAppPackages({ ...deps, feed });
  const node = home ? home.id : "local";
  const oauth = createAppOAuth({ ...deps, file: connectors.tokens, node, port: () => port });
  const usage = createUsage({ store: rows, clock, spend: () => config().gateway.spend });
  const healing = createAppHealing({ ...deps, config, feed, rooms: () => ({ sessions, channels }) });
  const generation = createAppGeneration({ config, paths, clock, media, shares, takeSpace: disk.take });
  const sessions = createSessions({
    feed,
    watch: healing.watch,
    store: rows,
    clock,
    log,
    config: () => ({ ...config(), agents: owners.served() }),
    agent: (id) => (owners.serves(id) ? agent(id) : undefined),
    runtimeFor: runtimes.forAgent,
    sessionDir: paths.sessionDir,
    media,
    history,
    models,
    tools: (scope) => [
      ...shares.tools(scope),
      ...devices.tools(scope.agentId),
      ...crons.tools(scope),
      ...generation.tools(scope),
    ],
    toolServers: connectors.serversFor,
    counters: monitoring.turns,
    usage,
    step: publishStep,
    cutOff: async (turn) => [...(await crons.cutOff(turn)), ...(await channels.cutOff(turn))],
    closedLate() {
      channels.lookAgain();
      void crons.lookAgain();
    },
  });
  const agentModels = createAgentModels({ models, own: runtimes.models });
  const runCommand = createCommandRunner(sessions, agentModels);
  const access = createAccess({ config: store, clock, log, onKnock: feed.channels.knocked });
  const own = { rows, sessions, history, config, agent, clock, log };
  const terminal = createAppTerminal({ ...own, serves: owners.serves, access: access.load });
  const { channels, webhooks } = createAppChannels({
    store: rows,
    ...{ feed, clock, log, config, paths, sessions, media, runCommand },
    access: access.load,
    cli: terminal.cli,
    ownCommands: terminal.ownCommands,
    counters: monitoring.channels,
    onConnected: feed.channels.connected,
    serves: owners.serves,
    connects: owners.connects,
    takeSpace: disk.take,
    publicLink: shares.link,
  });
  const crons = createAppCrons({
    store: rows,
    ...{ feed, clock, log, config, agent, sessions, channels, reaper, env },
    serves: owners.serves,
    jobs: () => jobs,
  });

  const jobs = createAppJobs({
    rows,
    served: owners.served,
    monitoring,
    clock,
    log,
    channels,
    crons,
    feed,
    history,
    shares,
    usage,
    oauth,
    node,
  });

  const devices = createAppDevices({
    store,
    paths,
    clock,
    channels,
    media,
    access: access.load,
    requireAgent,
    takeSpace: disk.take,
  });
  const agents = createAgents({
    config: store,
    paths,
    env,
    channelsOf: async (id) => ({
      channels: await channels.view(id),
      devicechat_accounts: devices.accountsOf(requireAgent(id)),
    }),
    connectorsOf: connectors.ofAgent,
    runtimeStatus: (entry) => runtimes.status(entry),
    checkToken,
  });

  const authenticator = createAuthenticator({ keys: () => config().gateway.api.keys, clock });
  const dashboards = createDashboardSessions({
    clock,
    log,
    admin: authenticator.admin,
    rows: {
      all: rows.logins.all,
      keep: (login) => rows.commit(rows.logins.keep(login)),
      remove: (digests) => rows.commit(rows.logins.remove(digests)),
    },
  });
  await dashboards.load();
  const shared = {
    sessions,
    runCommand,
    requireAgent,
    config,
    clock,
    onReader: monitoring.onReader,
    takeStream: createStreamSlots(() => config().gateway.api.maxStreams),
    takeSpace: disk.take,
  };
  const endpoints: Endpoint[] = [
    ...routes.metaRoutes({
      version: VERSION,
      disk: disk.state,
      storeAnswers: () => rows.health().ok,
      served: () => endpoints.map(({ decl }) => decl),
    }),
    ...routes.dashboardRoutes({
      authenticator,
      sessions: dashboards,
      onLogout: () => server.recheck(),
      config,
      version: VERSION,
      directory: dashboardFolder(),
    }),
    ...routes.messageRoutes(shared),
    ...routes.sessionRoutes(shared),
    ...routes.historyRoutes({ history, agents: () => config().agents }),
    ...routes.mediaRoutes({ media }),
    ...routes.shareRoutes({
      shares,
      agentExists: (id) => agent(id) !== undefined,
      requireSessionDir: async (id, chat, session) =>
        paths.sessionDir(id, `api-${chat}`, (await sessions.require(id, `api-${chat}`, session)).uuid),
    }),
    ...routes.agentRoutes({
      agents,
      judgeModel: (id, model) => agentModels.judge(requireAgent(id), model),
      made: owners.reconfigure,
      remove: (id) =>
        owners.removing(id, async () => {
          await jobs.removing(id);
          await agents.remove(id);
          await sessions.stopAgent(id);
          await crons.removeAgent(id);
          await channels.removeAgent(id);
          await jobs.removeAgent(id);
        }),
    }),
    ...routes.modelRoutes({
      models,
      agentModels,
      requireAgent,
      saveModel: (id, model, confirm) => agents.update(id, { model }, { isAdmin: false, confirm }),
    }),
    ...routes.accessRoutes({ access: access.load, requireAgent }),
    ...routes.channelHealthRoutes({
      channels,
      deliveries: channels.deliveries,
      trace: channels.trace,
      access: access.load,
      requireAgent,
    }),
    ...devices.endpoints,
    ...connectors.endpoints,
    ...crons.endpoints,
    ...routes.webhookRoutes({ webhooks, clock }),
    ...oauth.endpoints,
    ...routes.eventRoutes({ feed, authenticator, logins: dashboards, config, clock }),
    ...routes.usageRoutes({ usage, agentExists: (id) => agent(id) !== undefined }),
    ...packages.endpoints,
    ...healing.endpoints,
    ...routes.monitoringRoutes({ monitoring }),
    ...terminal.endpoints,
  ];
  const server = createHttpServer({
    endpoints,
    sockets: terminal.sockets,
    authenticator,
    sessions: dashboards,
    config,
    agentExists: (id) => agent(id) !== undefined,
    serves: owners.serves,
    publicPath: shares.publicPath,
    takeSpace: disk.take,
    onRequest: monitoring.onRequest,
    clock,
    log,
  });
  const applyConfig = () => {
    server.recheck();
    runtimes.refresh(config().agents.map(({ id }) => id));
    sessions.reconfigure();
    void jobs.reconfigure();
    void channels.reconfigure();
    void crons.lookAgain();
  };
  store.onChange(() => {
    applyConfig();
    void owners.reconfigure();
  });

  return {
    async listen(host: string, wanted: number) {
      await Promise.all(config().agents.map((entry) => restrictState(entry.workspace)));
      await owners.recover();
      const address = await server.listen(host, wanted);
      port = address.port;
      return address;
    },
    /** Work that can wait until the gateway is serving: crash leftovers, spare processes, the agents' runtimes. */
    afterStart() {
      feed.start();
      feed.tell({ type: "gateway.started", data: { version: VERSION } });
      void reaper
        .reapLeftovers()
        .catch((error) => log.warn({ err: error }, "could not look for leftover processes"));
      announceRuntimes(runtimes, config().agents, log);
      void sessions.fillSpares();
      history.start();
      void crons.start();
      void jobs.start();
      rows.started();
      void channels.start();
      owners.begin();
      void packages.recover();
      void media
        .sweep(config().agents.map(({ id }) => id))
        .catch((error) => log.warn({ err: error }, "could not clean up old uploads"));
    },
    /** What a stop does, in order. */
    shutdown: () =>
      shutdownPhases({
        clock,
        server,
        feed,
        channels,
        crons,
        sessions,
        disk,
        jobs,
        reaper,
        last: [access, runtimes, store],
        owners,
        rows,
      }),
  };
}
