import { auth } from "../state/auth.ts";
import { route } from "../state/route.ts";
import { ChannelsView } from "../views/channels/ChannelsView.tsx";
import { ChatView } from "../views/chat/ChatView.tsx";
import { HistoryView } from "../views/history/HistoryView.tsx";
import { StatusView } from "../views/status/StatusView.tsx";
import { UsageView } from "../views/usage/UsageView.tsx";
import { Header } from "./Header.tsx";
import { GatewayClosed, Login } from "./Login.tsx";
import { DiskBanner, Notices } from "./Notices.tsx";

export function App() {
  switch (auth.value) {
    case "loading":
      return <p class="splash">Connecting to the gateway…</p>;
    case "unreachable":
      return <GatewayClosed />;
    case "out":
      return <Login />;
    case "keyless":
    case "in":
      return (
        <div class="shell">
          <Header />
          <Notices />
          <DiskBanner />
          <View />
        </div>
      );
  }
}

function View() {
  if (auth.value === "keyless") return <StatusView keyless />;
  switch (route.value.view) {
    case "chat":
      return <ChatView />;
    case "channels":
      return <ChannelsView />;
    case "history":
      return <HistoryView />;
    case "usage":
      return <UsageView />;
    case "status":
      return <StatusView />;
  }
}
