import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { PageEntry } from "../pages/index.ts";

/** Pages that have been loaded. */
const known = new Map<string, ComponentType>();

/** Shows a page, and loads its module before that. */
export function PageFrame({ page }: { page: PageEntry }) {
  const came = useSignal(0);
  const failed = useSignal("");
  const { id } = page;
  useEffect(() => {
    if (known.has(id)) return;
    failed.value = "";
    page.load().then(
      (view) => {
        known.set(id, view);
        came.value++;
      },
      () => {
        failed.value = id;
      },
    );
  }, [id]);
  void came.value;
  const View = known.get(id);
  if (View) return <View key={id} />;
  return <main class="page">{failed.value === id ? <NotLoaded /> : <p class="empty late">Loading…</p>}</main>;
}

/** The gateway is away, or was updated and has other modules now. */
function NotLoaded() {
  return (
    <>
      <p role="alert">This page could not be loaded. Check that the gateway is running, then reload.</p>
      <button type="button" class="button primary" onClick={() => location.reload()}>
        Reload
      </button>
    </>
  );
}
