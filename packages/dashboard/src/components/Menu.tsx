import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./Icon.tsx";

export interface MenuEntry {
  label: string;
  danger?: boolean;
  disabled?: boolean;
  run: () => void;
}

/** A button that opens a menu: arrows move, Escape and a click elsewhere close it. */
export function Menu({ label, icon, entries }: { label: string; icon: IconName; entries: MenuEntry[] }) {
  const open = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    if (!open.value) return undefined;
    placeBelow(list.current as HTMLElement, button.current as HTMLElement);
    root.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) open.value = false;
    };
    const control = new AbortController();
    const { signal } = control;
    document.addEventListener("pointerdown", outside, { signal });
    for (const moved of ["scroll", "resize"]) {
      addEventListener(
        moved,
        () => {
          open.value = false;
        },
        { signal, capture: true },
      );
    }
    return () => control.abort();
  }, [open.value]);

  const close = () => {
    open.value = false;
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return close();
    if (event.key === "Tab") {
      open.value = false;
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const enabled = [
      ...(root.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? []),
    ];
    const index = enabled.indexOf(document.activeElement as HTMLElement);
    enabled.at((index + step) % enabled.length)?.focus();
  };

  return (
    <div class="menu" ref={root}>
      <button
        ref={button}
        type="button"
        class="icon-button"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon name={icon} />
      </button>
      {open.value && (
        <div ref={list} class="menu-list" role="menu" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
          {entries.map((entry) => (
            <button
              key={entry.label}
              type="button"
              role="menuitem"
              class={entry.danger ? "menu-item danger" : "menu-item"}
              disabled={entry.disabled}
              onClick={() => {
                close();
                entry.run();
              }}
            >
              {entry.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const GAP = 4;

/** Puts a box under the right end of its button, and within the window. */
function placeBelow(box: HTMLElement, button: HTMLElement): void {
  const { bottom, right } = button.getBoundingClientRect();
  box.style.top = `${Math.max(Math.min(bottom + GAP, innerHeight - box.offsetHeight - GAP), GAP)}px`;
  box.style.left = `${Math.max(right - box.offsetWidth, GAP)}px`;
}
