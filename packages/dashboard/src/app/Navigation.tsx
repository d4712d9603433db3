import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName, Logo } from "../components/Icon.tsx";
import { GROUPS, PAGES, type PageEntry, startOf } from "../pages/index.ts";
import { hashOf } from "../state/address.ts";
import { auth, logout } from "../state/auth.ts";
import { attempt } from "../state/notices.ts";
import { THEMES, type Theme, theme } from "../state/theme.ts";

/** Lets the keyboard pass the links. */
export function SkipLink() {
  const skip = () => {
    const main = document.querySelector("main");
    main?.setAttribute("tabindex", "-1");
    main?.focus();
  };
  return (
    <button type="button" class="button skip" onClick={skip}>
      Skip the navigation
    </button>
  );
}

/** The navigation beside the page, where there is room for it. */
export function Rail({ page }: { page: PageEntry }) {
  return (
    <header class="rail">
      <Brand />
      <Links page={page} />
      <div class="rail-end">
        <ThemeButton labelled />
        <LogoutButton labelled />
      </div>
    </header>
  );
}

/** The navigation on a narrow screen: a line above the page, and a drawer with the links. */
export function TopBar({ page }: { page: PageEntry }) {
  const open = useSignal(false);
  const keyless = auth.value === "keyless";
  return (
    <header class="topbar">
      {keyless ? (
        <Brand />
      ) : (
        <>
          <button
            type="button"
            class="icon-button"
            aria-label="Pages"
            title="Pages"
            aria-haspopup="dialog"
            aria-expanded={open.value}
            onClick={() => {
              open.value = true;
            }}
          >
            <Icon name="list" />
          </button>
          <span class="topbar-title">{page.label}</span>
        </>
      )}
      <ThemeButton />
      {!keyless && <LogoutButton />}
      {open.value && (
        <Drawer
          page={page}
          onClose={() => {
            open.value = false;
          }}
        />
      )}
    </header>
  );
}

/** A dialog of the browser: it keeps the keyboard, and Escape closes it. */
function Drawer({ page, onClose }: { page: PageEntry; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const { activeElement } = document;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("[aria-current=page]")?.focus();
    return () => {
      if (activeElement instanceof HTMLElement && activeElement.isConnected) activeElement.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does what a click beside the drawer does.
    <dialog
      ref={dialog}
      class="drawer"
      aria-label="Pages"
      onClose={onClose}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <div class="drawer-content">
        <div class="drawer-head">
          <Brand />
          <button type="button" class="icon-button" aria-label="Close" title="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <Links page={page} onFollow={onClose} />
      </div>
    </dialog>
  );
}

function Brand() {
  return (
    <span class="brand">
      <Logo />
      <span>Agent Gateway</span>
    </span>
  );
}

function Links({ page, onFollow }: { page: PageEntry; onFollow?: () => void }) {
  return (
    <nav aria-label="Pages">
      {GROUPS.map((group) => (
        <div key={group} class="nav-group">
          <p class="nav-title" aria-hidden="true">
            {group}
          </p>
          <ul aria-label={group}>
            {PAGES.filter((entry) => entry.group === group).map((entry) => (
              <li key={entry.id}>
                <a
                  href={hashOf(startOf(entry))}
                  class="nav-link"
                  aria-current={entry === page ? "page" : undefined}
                  onClick={onFollow}
                >
                  <Icon name={entry.icon} />
                  <span>{entry.label}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const THEME_LABEL: Record<Theme, string> = {
  system: "Colours: system",
  light: "Colours: light",
  dark: "Colours: dark",
};
const THEME_ICON: Record<Theme, IconName> = { system: "contrast", light: "sun", dark: "moon" };

function ThemeButton({ labelled = false }: { labelled?: boolean }) {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  return (
    <BarButton
      icon={THEME_ICON[theme.value]}
      label={THEME_LABEL[theme.value]}
      labelled={labelled}
      run={() => {
        theme.value = next;
      }}
    />
  );
}

const LogoutButton = ({ labelled = false }: { labelled?: boolean }) => (
  <BarButton icon="logout" label="Log out" labelled={labelled} run={() => void attempt(logout)} />
);

function BarButton(props: { icon: IconName; label: string; labelled: boolean; run: () => void }) {
  const { icon, label, labelled, run } = props;
  return labelled ? (
    <button type="button" class="nav-link" onClick={run}>
      <Icon name={icon} />
      <span>{label}</span>
    </button>
  ) : (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={run}>
      <Icon name={icon} />
    </button>
  );
}
