import { effect, signal } from "@preact/signals";
import { readStored, store } from "./stored.ts";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const stored = readStored("theme");
export const theme = signal<Theme>(THEMES.find((name) => name === stored) ?? "system");

effect(() => {
  document.documentElement.style.colorScheme = theme.value === "system" ? "" : theme.value;
  store("theme", theme.value === "system" ? undefined : theme.value);
});
