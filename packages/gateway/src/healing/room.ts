import { randomUUID } from "node:crypto";
import {
  GatewayError,
  type Incident,
  type IncidentAction,
  type IncidentStage,
} from "@agent-gateway/contract";
import type { HealingDeps, Terminal, Watched } from "./ports.ts";
import {
  evidenceOf,
  FOUND,
  hasRecovered,
  ladderOf,
  NOT_RECOVERED,
  RECOVERED,
  type Seen,
  stuckFor,
} from "./stages.ts";

/** Incidents that are kept of each agent. */
const KEPT = 200;
const MAX_EVIDENCE = 500;
/** Before it is masked, so that no secret is cut in what is left of it. */
const MAX_STDERR = 3000;

/** What a program draws within this after a key is its answer to the key. */
const KEY_ECHO_MS = 1_000;

interface Case {
  incident: Incident;
  /** By the clock's `elapsed`. */
  foundAt: number;
  /** What the watchdog has done in it. */
  tried: Set<IncidentAction>;
  patient: Patient;
}

/** A turn that had an incident. */
interface Patient {
  turn: Watched;
  cases: Case[];
  /** Actions of the watchdog. */
  spent: number;
  acting: boolean;
  /** When the latest action ended, by the clock's `elapsed`. */
  actedAt: number | undefined;
  /** Ends a wait for the next action. */
  wake: AbortController;
}

/** The beginning and the end say most. */
const cutInMiddle = (text: string, max: number) => {
  const half = (max - 1) >> 1;
  return text.length <= max ? text : `${text.slice(0, half)}…${text.slice(-half)}`.toWellFormed();
};
const isOpen = ({ incident }: Case) => incident.closedAt === null;
const secondsOf = (ms: number) => Math.ceil(ms / 1000);

/** The incidents of running turns, and what is done about them. */
export function createRoom(deps: HealingDeps) {
  const { clock, log, settings } = deps;
  const patients = new Map<string, Patient>();
  const byAgent = new Map<string, Case[]>();

  const about = ({ incident, patient: { turn } }: Case) => ({
    agent: turn.agentId,
    session: turn.sessionId,
    request: turn.requestId,
    incident: incident.id,
    stage: incident.stage,
  });
  const dataOf = ({ incident, patient: { turn } }: Case) => ({
    chatId: turn.chatId,
    sessionId: turn.sessionId,
    requestId: turn.requestId,
    incidentId: incident.id,
    stage: incident.stage,
  });
  const frame = ({ incident: { stage, outcome }, patient }: Case, action: IncidentAction | null) =>
    patient.turn.log.append({ type: "incident", stage, action, outcome });

  const ladder = (stage: IncidentStage, { turn }: Patient) =>
    ladderOf(stage, turn.look().terminal !== undefined);
  /** What is left for the watchdog to do, in its order. */
  const nextOf = ({ incident, tried, patient }: Case): IncidentAction | null => {
    const { autoRecover, maxPerTurn } = settings();
    if (!autoRecover || patient.spent >= maxPerTurn) return null;
    if (incident.stage === "dialog" && deps.leavesDialogs) return null;
    return ladder(incident.stage, patient).find((action) => !tried.has(action)) ?? null;
  };
  /** Milliseconds until something may be done again. */
  const restOf = ({ actedAt }: Patient) =>
    actedAt === undefined ? 0 : Math.max(0, actedAt + settings().cooldownSeconds * 1000 - clock.elapsed());
  /** What a stage takes at all. */
  const takenIn = ({ incident: { stage }, patient }: Case): IncidentAction[] => [
    ...ladder(stage, patient),
    ...(stage === "dialog" ? [] : ["resend" as const]),
  ];
  const allowed = (one: Case): IncidentAction[] => {
    const { patient } = one;
    if (!isOpen(one) || patient.acting || restOf(patient) > 0) return [];
    const { produced } = patient.turn.look();
    return takenIn(one).filter((action) => action !== "resend" || !produced);
  };
  const view = (one: Case): Incident => ({
    ...one.incident,
    actions: one.incident.actions.map((entry) => ({ ...entry })),
    allowed: allowed(one),
  });

  const keep = (one: Case) => {
    const { agentId } = one.patient.turn;
    const list = byAgent.get(agentId) ?? [];
    list.push(one);
    if (list.length > KEPT) list.shift();
    byAgent.set(agentId, list);
  };

  const open = (turn: Watched, stage: IncidentStage, seen: string): Case => {
    let patient = patients.get(turn.requestId);
    if (!patient) {
      patient = { turn, cases: [], spent: 0, acting: false, actedAt: undefined, wake: new AbortController() };
      patients.set(turn.requestId, patient);
    }
    const one: Case = {
      incident: {
        id: randomUUID(),
        sessionId: turn.sessionId,
        chatId: turn.chatId,
        requestId: turn.requestId,
        stage,
        detectedAt: clock.now(),
        evidence: cutInMiddle(deps.mask(seen), MAX_EVIDENCE),
        action: null,
        allowed: [],
        actions: [],
        outcome: "open",
        closedAt: null,
      },
      foundAt: clock.elapsed(),
      tried: new Set(),
      patient,
    };
    patient.cases.push(one);
    one.incident.action = nextOf(one);
    keep(one);
    log.warn({ ...about(one), evidence: one.incident.evidence }, "a turn is stuck");
    deps.tell({ type: "incident.opened", agentId: turn.agentId, data: dataOf(one) });
    deps.say(turn.requestId, FOUND[stage]);
    frame(one, one.incident.action);
    return one;
  };

  const close = (one: Case, outcome: "recovered" | "gave_up" | "ended", say = true) => {
    if (!isOpen(one)) return;
    const { incident, patient } = one;
    const told = incident.outcome;
    incident.outcome = outcome;
    incident.closedAt = clock.now();
    incident.action = null;
    log.info({ ...about(one), outcome }, "the incident of a turn is over");
    deps.tell({
      type: "incident.closed",
      agentId: patient.turn.agentId,
      data: { ...dataOf(one), outcome },
    });
    if (say) deps.say(patient.turn.requestId, outcome === "recovered" ? RECOVERED : NOT_RECOVERED);
    if (outcome !== told) frame(one, incident.actions.at(-1)?.action ?? null);
  };

  const giveUp = (one: Case) => {
    if (one.incident.outcome !== "open") return;
    one.incident.outcome = "gave_up";
    one.incident.action = null;
    log.warn(about(one), "the watchdog has nothing left to try on a turn");
    frame(one, null);
  };

  const perform = async (one: Case, action: IncidentAction, by: "watchdog" | "person") => {
    const { incident, patient } = one;
    const at = clock.now();
    patient.acting = true;
    incident.action = action;
    if (by === "watchdog") {
      one.tried.add(action);
      patient.spent++;
    }
    log.info({ ...about(one), action, by }, "repairing a turn");
    frame(one, action);
    let ok = false;
    try {
      if (action === "key") {
        const key = incident.stage === "dialog" ? "answer" : "escape";
        ok = (await patient.turn.look().terminal?.press(key)) ?? false;
        one.foundAt = clock.elapsed() + KEY_ECHO_MS;
      } else ok = await patient.turn.mend(action);
    } catch (error) {
      log.error({ err: error, ...about(one) }, "could not repair a turn");
    }
    incident.actions.push({ action, at, by, ok });
    patient.acting = false;
    patient.actedAt = clock.elapsed();
    incident.action = isOpen(one) && incident.outcome === "open" ? nextOf(one) : null;
  };

  const follow = (one: Case, seen: Seen) => {
    const { incident, foundAt, patient } = one;
    if (hasRecovered(incident.stage, seen, foundAt)) return close(one, "recovered");
    const stuck = stuckFor(incident.stage, seen, settings(), clock.elapsed()) !== undefined;
    if (!settings().autoRecover || !stuck || incident.outcome !== "open") return;
    if (patient.acting || restOf(patient) > 0) return;
    const next = nextOf(one);
    incident.action = next;
    if (next === null) giveUp(one);
    else void perform(one, next, "watchdog");
  };

  const lookAt = (turn: Watched, seen: Seen) => {
    if (seen.phase === "over") return;
    const cases = patients.get(turn.requestId)?.cases ?? [];
    for (const one of cases) if (isOpen(one)) follow(one, seen);
    if (cases.some(isOpen)) return;
    for (const stage of settings().stages) {
      const seconds = stuckFor(stage, seen, settings(), clock.elapsed());
      if (seconds === undefined || cases.some(({ incident }) => incident.stage === stage)) continue;
      const sentence = evidenceOf(stage, seconds, seen.toolRuns);
      const shown = seen.screen?.text.slice(-MAX_STDERR) ?? "";
      const evidence = [sentence, shown].filter(Boolean).join("\n");
      follow(open(turn, stage, evidence), seen);
      return;
    }
  };

  /** Since when a known question stands on the screens of turns. */
  const dialogs = new WeakMap<Watched, { dialog: string; since: number }>();
  const reading = new WeakSet<Watched>();
  const lookAtScreen = async (turn: Watched, terminal: Terminal) => {
    const [screen, { text }] = await Promise.all([terminal.reading(), terminal.screen()]);
    const seen = turn.look();
    // Another process, or none, may have taken its place meanwhile.
    if (seen.terminal !== terminal || !deps.running().includes(turn)) return;
    const { dialog } = screen;
    if (dialog === null) dialogs.delete(turn);
    else if (dialogs.get(turn)?.dialog !== dialog) dialogs.set(turn, { dialog, since: clock.elapsed() });
    lookAt(turn, {
      ...seen,
      outputAt: Math.max(seen.outputAt, terminal.printedAt()),
      screen: { ...screen, text: text.trim(), dialogSince: dialogs.get(turn)?.since },
    });
  };

  /** Resolves to true after the pause that has to be between two actions, to false if the turn ends before. */
  const rest = (patient: Patient): Promise<boolean> => {
    const ms = restOf(patient);
    const { signal } = patient.wake;
    if (ms === 0 || signal.aborted) return Promise.resolve(!signal.aborted);
    return new Promise((resolve) => {
      const cancel = clock.after(ms, () => resolve(true));
      signal.addEventListener("abort", () => {
        cancel();
        resolve(false);
      });
    });
  };

  const listOf = (agentId: string) => byAgent.get(agentId) ?? [];
  const find = (agentId: string, incidentId: string) =>
    listOf(agentId).find(({ incident }) => incident.id === incidentId);

  return {
    /** Finds what is stuck among the running turns, and goes on with what was found. */
    look(turns: readonly Watched[]) {
      for (const turn of turns) {
        // What replaces asking the agent is not its work on a message.
        if (turn.kind === "compact") continue;
        const seen = turn.look();
        if (!seen.terminal) lookAt(turn, seen);
        else if (!reading.has(turn)) {
          reading.add(turn);
          lookAtScreen(turn, seen.terminal)
            .catch((error) => log.warn({ err: error, session: turn.sessionId }, "could not read a screen"))
            .finally(() => reading.delete(turn));
        }
      }
    },

    /** The process of a turn is gone. Resolves to whether another gets the message. */
    async exited(turn: Watched, { error = "" }: { error?: string }): Promise<boolean> {
      // It may have been stopped meanwhile.
      if (turn.kind === "compact" || !deps.running().includes(turn)) return false;
      const { produced } = turn.look();
      const known = patients.get(turn.requestId)?.cases.find(({ incident }) => incident.stage === "exited");
      const evidence = [error, turn.stderrTail().trim().slice(-MAX_STDERR)].filter(Boolean).join(" ");
      const one = known ?? open(turn, "exited", evidence);
      const next = nextOf(one);
      if (!isOpen(one)) return false;
      if (produced || !settings().autoRecover) {
        close(one, "ended", known !== undefined);
        return false;
      }
      if (next === null) {
        giveUp(one);
        return false;
      }
      if (!(await rest(one.patient)) || !isOpen(one)) return false;
      one.tried.add(next);
      one.patient.spent++;
      one.incident.actions.push({ action: next, at: clock.now(), by: "watchdog", ok: true });
      one.patient.actedAt = clock.elapsed();
      log.info({ ...about(one), action: next, by: "watchdog" }, "repairing a turn");
      frame(one, next);
      one.incident.action = nextOf(one);
      return true;
    },

    /** A turn has ended, and with it its incidents. */
    ended(turn: Watched, status: string) {
      const patient = patients.get(turn.requestId);
      if (!patient) return;
      patients.delete(turn.requestId);
      patient.wake.abort();
      for (const one of patient.cases) {
        const lost = one.incident.outcome === "gave_up" ? "gave_up" : "ended";
        close(one, status === "done" ? "recovered" : lost);
      }
      // Incidents are kept longer than what belongs to their turns.
      patient.turn = remains(turn);
    },

    list: (agentId: string) => listOf(agentId).map(view).reverse(),
    find,

    async act(agentId: string, incidentId: string, action: IncidentAction): Promise<Incident> {
      const one = find(agentId, incidentId);
      if (!one) throw new GatewayError("NOT_FOUND", "There is no such incident.");
      const { patient } = one;
      if (isOpen(one) && !takenIn(one).includes(action)) throw notAllowed("does not help in this stage");
      if (!isOpen(one)) throw new GatewayError("CONFLICT", "The incident is over.");
      if (patient.acting) throw new GatewayError("CONFLICT", "Something is being done about it already.");
      const wait = restOf(patient);
      if (wait > 0) {
        throw new GatewayError(
          "CONFLICT",
          `Something was done about it just now; try again in ${secondsOf(wait)} s.`,
        );
      }
      if (!allowed(one).includes(action))
        throw notAllowed("is not allowed any more, because something has come of the turn");
      await perform(one, action, "person");
      return view(one);
    },

    openOf(sessionId: string): Pick<Incident, "id" | "stage"> | null {
      for (const { turn, cases } of patients.values()) {
        if (turn.sessionId !== sessionId) continue;
        const latest = cases.findLast(isOpen)?.incident;
        if (latest) return { id: latest.id, stage: latest.stage };
      }
      return null;
    },
  };
}

/** What an incident still needs of a turn that has ended. */
const remains = ({ agentId, chatId, sessionId, requestId, kind, begunAt }: Watched): Watched => {
  const look = {
    startedAt: undefined,
    toldAt: undefined,
    outputAt: 0,
    heardAt: 0,
    toolRuns: false,
    terminal: undefined,
  };
  return {
    ...{ agentId, chatId, sessionId, requestId, kind, begunAt },
    log: { append() {} },
    look: () => ({ ...look, phase: "over", produced: true }),
    mend: async () => false,
    stderrTail: () => "",
  };
};

const notAllowed = (why: string) =>
  new GatewayError("INVALID_REQUEST", `This action ${why}.`, {
    details: [{ path: "action", message: why }],
  });
