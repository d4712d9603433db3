import "./terminal.css";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { liveScreen } from "./live-screen.ts";

type Live = ReturnType<typeof liveScreen>;

/** A terminal to watch, with a switch to type into it. */
export function TerminalScreen({
  address,
  sentence,
}: {
  /** A new address of the socket; each is good for one connection. */
  address: () => Promise<string>;
  /** What a person is told of an error. */
  sentence: (error: unknown) => string;
}) {
  const host = useRef<HTMLDivElement>(null);
  const toggle = useRef<HTMLInputElement>(null);
  const live = useRef<Live | undefined>(undefined);
  const state = useSignal("Connecting…");
  const closed = useSignal(false);
  const typing = useSignal(false);

  const setTyping = (on: boolean) => {
    typing.value = on;
    live.current?.setTyping(on);
  };
  const connect = () => {
    closed.value = false;
    live.current?.connect().catch((error) => {
      state.value = sentence(error);
      closed.value = true;
    });
  };
  useEffect(() => {
    const screen = liveScreen(host.current!, {
      address,
      onState(now, why) {
        state.value = why ?? (now === "live" ? "Live" : "Connecting…");
        closed.value = now === "closed";
        if (now === "closed") setTyping(false);
      },
      onLeave() {
        setTyping(false);
        toggle.current?.focus();
      },
    });
    live.current = screen;
    connect();
    return () => screen.close();
  }, []);

  return (
    <div class="terminal-view">
      <div class="terminal-bar">
        <label class="check">
          <input
            ref={toggle}
            type="checkbox"
            checked={typing.value}
            disabled={closed.value}
            onChange={(event) => setTyping(event.currentTarget.checked)}
          />
          <span>Type into it</span>
        </label>
        <span class="hint">{typing.value ? "Ctrl+] stops typing." : "You are only watching."}</span>
        <span class="terminal-state" role="status">
          {state.value}
        </span>
        {closed.value && (
          <button type="button" class="button" onClick={connect}>
            Connect again
          </button>
        )}
      </div>
      <div class="terminal-host" ref={host} />
    </div>
  );
}
