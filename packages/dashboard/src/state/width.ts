import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 56rem)");

/** True on a screen that has no room for a column of links. */
export const narrow = signal(query.matches);
query.addEventListener("change", ({ matches }) => {
  narrow.value = matches;
});
