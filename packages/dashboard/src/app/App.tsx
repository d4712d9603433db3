import { pageWith } from "../pages/index.ts";
import { pageOf } from "../state/address.ts";
import { auth } from "../state/auth.ts";
import { route } from "../state/route.ts";
import { narrow } from "../state/width.ts";
import { GatewayClosed, Login } from "./Login.tsx";
import { Rail, SkipLink, TopBar } from "./Navigation.tsx";
import { DiskBanner, Notices } from "./Notices.tsx";
import { PageFrame } from "./PageFrame.tsx";

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
      return <Shell />;
  }
}

function Shell() {
  // Without a key, the gateway shows its status and nothing else.
  const page = pageWith(auth.value === "keyless" ? "system" : pageOf(route.value));
  const bar = narrow.value || auth.value === "keyless";
  return (
    <div class={bar ? "shell narrow" : "shell"}>
      <SkipLink />
      {bar ? <TopBar page={page} /> : <Rail page={page} />}
      <div class="content">
        <Notices />
        <DiskBanner />
        <PageFrame page={page} />
      </div>
    </div>
  );
}
