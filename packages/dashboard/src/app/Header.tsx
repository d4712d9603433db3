import { Icon, type IconName, Logo } from "../components/Icon.tsx";
import { hashOf, type Route } from "../state/address.ts";
import { auth, logout } from "../state/auth.ts";
import { attempt } from "../state/notices.ts";
import { homePlace } from "../state/place.ts";
import { route } from "../state/route.ts";
import { THEMES, type Theme, theme } from "../state/theme.ts";

/** Where a link of the navigation leads: its view, at the agent and chat of the present one. */
function targetOf(view: Route["view"]): string {
  const at = route.value;
  const home = homePlace();
  const agentId = ("agentId" in at && at.agentId) || home.agentId;
  if (view === "channels") return hashOf({ view, agentId });
  const chatId = at.view === "chat" && at.chatId ? at.chatId : home.chatId;
  if (view === "status" || view === "usage") return hashOf({ view });
  if (view === "history") return hashOf({ view, agentId, chatId: `api-${chatId}`, query: "" });
  return hashOf({ view, agentId, chatId, sessionId: undefined });
}

const LINKS: { view: Route["view"]; label: string; icon: IconName }[] = [
  { view: "chat", label: "Chat", icon: "chat" },
  { view: "channels", label: "Channels", icon: "link" },
  { view: "history", label: "History", icon: "search" },
  { view: "usage", label: "Usage", icon: "bars" },
  { view: "status", label: "Status", icon: "pulse" },
];

export function Header() {
  const keyless = auth.value === "keyless";
  return (
    <header class="topbar">
      <span class="brand">
        <Logo />
        <span class="brand-name">Agent Gateway</span>
      </span>
      {!keyless && (
        <nav aria-label="Pages">
          {LINKS.map(({ view, label, icon }) => (
            <a
              key={view}
              href={targetOf(view)}
              class="nav-link"
              aria-current={route.value.view === view ? "page" : undefined}
            >
              <Icon name={icon} />
              <span>{label}</span>
            </a>
          ))}
        </nav>
      )}
      <ThemeButton />
      {!keyless && (
        <button
          type="button"
          class="icon-button"
          aria-label="Log out"
          title="Log out"
          onClick={() => attempt(logout)}
        >
          <Icon name="logout" />
        </button>
      )}
    </header>
  );
}

const THEME_LABEL: Record<Theme, string> = {
  system: "Colours: system",
  light: "Colours: light",
  dark: "Colours: dark",
};
const THEME_ICON: Record<Theme, IconName> = { system: "contrast", light: "sun", dark: "moon" };

function ThemeButton() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  const label = THEME_LABEL[theme.value];
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={() => {
        theme.value = next;
      }}
    >
      <Icon name={THEME_ICON[theme.value]} />
    </button>
  );
}
