import { MAX_LABEL_CHARS } from "@agent-gateway/contract";
import type { Session } from "../../api/types.ts";
import { ask } from "../../components/Dialog.tsx";
import type { MenuEntry } from "../../components/Menu.tsx";
import { addNote, loadInfo, loadNewest } from "../../state/conversation.ts";
import { attempt, notify } from "../../state/notices.ts";
import { place } from "../../state/place.ts";
import { greetIn } from "../../state/send.ts";
import {
  clearSession,
  compactSession,
  deleteSession,
  loadSessions,
  renameSession,
  restartSession,
  shareFile,
} from "../../state/sessions.ts";

const onView = (session: Session) => place.peek()?.sessionId === session.id;

/** Says it in the conversation when that is on view, else above the page. */
function say(session: Session, text: string): void {
  if (onView(session)) addNote(text);
  else notify(`${session.name}: ${text}`);
}

async function refresh(session: Session): Promise<void> {
  if (onView(session)) await Promise.all([loadNewest(), loadInfo()]);
  await loadSessions();
}

async function rename(session: Session): Promise<void> {
  const name = await ask({
    title: "Rename session",
    field: { label: "Name", value: session.name, maxLength: MAX_LABEL_CHARS },
    action: "Rename",
  });
  if (name === undefined) return;
  await renameSession(session.id, name);
  if (onView(session)) await loadInfo();
}

async function clear(session: Session): Promise<void> {
  const sure = await ask({
    title: "Clear session?",
    text: `All messages in “${session.name}” will be deleted, including from the history. This cannot be undone.`,
    action: "Clear",
    danger: true,
  });
  if (sure === undefined) return;
  await clearSession(session.id);
  await refresh(session);
  say(session, "All messages in this session have been deleted.");
}

async function compact(session: Session): Promise<void> {
  say(session, "Compacting the session…");
  const outcome = await compactSession(session.id);
  await refresh(session);
  say(session, outcome);
}

async function restart(session: Session): Promise<void> {
  await restartSession(session.id);
  say(session, "The agent's process is restarting.");
}

async function remove(session: Session): Promise<void> {
  const sure = await ask({
    title: "Delete session?",
    text: `“${session.name}” and its messages will be deleted. This cannot be undone.`,
    action: "Delete",
    danger: true,
  });
  if (sure !== undefined) await deleteSession(session.id);
}

const HALF_AN_HOUR_S = 1800;

async function share(session: Session): Promise<void> {
  const path = await ask({
    title: "Share a file",
    text: "Makes a link to a file in the agent's workspace. For half an hour, anyone who has the link can download the file.",
    field: {
      label: "Path of the file",
      value: "",
      maxLength: 4096,
      hint: "The whole path on the gateway's machine, for example /home/me/work/report.pdf",
    },
    action: "Make a link",
  });
  if (path === undefined) return;
  const link = await shareFile(session.id, path, HALF_AN_HOUR_S);
  say(
    session,
    `Anyone who has this link can download the file for half an hour: [link to the file](${link})`,
  );
}

async function greet(session: Session): Promise<void> {
  if (!(await greetIn(session.id)))
    say(session, "There is no greeting. You can write one on the agent's page.");
}

/** Actions on a session; those that a running turn forbids are disabled. */
export function sessionActions(session: Session, busy: boolean): MenuEntry[] {
  return [
    { label: "Rename…", run: () => attempt(() => rename(session)) },
    {
      label: "Let the agent greet",
      disabled: busy || !onView(session),
      run: () => attempt(() => greet(session)),
    },
    { label: "Share a file…", run: () => attempt(() => share(session)) },
    { label: "Compact", disabled: busy, run: () => attempt(() => compact(session)) },
    { label: "Restart agent process", run: () => attempt(() => restart(session)) },
    { label: "Clear…", disabled: busy, danger: true, run: () => attempt(() => clear(session)) },
    { label: "Delete…", danger: true, run: () => attempt(() => remove(session)) },
  ];
}
