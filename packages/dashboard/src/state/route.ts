import { computed, signal } from "@preact/signals";
import { hashOf, parseHash, type Route } from "./address.ts";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => parseHash(hash.value));

/** Goes to a route; `replace` leaves no entry to come back to. */
export function go(target: Route, { replace = false } = {}): void {
  const next = hashOf(target);
  if (next === hash.peek()) return;
  if (replace) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  hash.value = next;
}
addEventListener("popstate", () => {
  hash.value = location.hash;
});
