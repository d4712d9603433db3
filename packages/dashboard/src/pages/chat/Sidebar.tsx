import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/Icon.tsx";
import { openSession, type Place } from "../../state/place.ts";
import { AgentPicker, ChatPicker } from "./PlacePicker.tsx";
import { SessionList } from "./SessionList.tsx";

/** Agent, chat and sessions: a column beside the conversation, a drawer over it on a narrow screen. */
export function Sidebar({ here, open, onClose }: { here: Place; open: boolean; onClose: () => void }) {
  const root = useRef<HTMLElement>(null);
  // Before the next paint: the drawer takes the keyboard as soon as it shows.
  useLayoutEffect(() => {
    if (!open) return undefined;
    const { activeElement } = document;
    root.current?.querySelector<HTMLElement>("button, select")?.focus();
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && onClose();
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      if (activeElement instanceof HTMLElement) activeElement.focus();
    };
  }, [open]);

  return (
    <>
      {open && <button type="button" class="backdrop" aria-label="Close the sessions" onClick={onClose} />}
      <aside ref={root} class={open ? "sidebar open" : "sidebar"} aria-label="Agent and sessions">
        <div class="sidebar-top">
          <AgentPicker here={here} />
          <ChatPicker here={here} />
          <button type="button" class="icon-button drawer-close" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <button
          type="button"
          class="button new-session"
          onClick={() => {
            openSession(here, undefined);
            onClose();
            document.getElementById("message")?.focus();
          }}
        >
          <Icon name="plus" /> New conversation
        </button>
        <SessionList here={here} onOpened={onClose} />
      </aside>
    </>
  );
}
