const PATHS = {
  alert: "M8 2.5 14.5 13.5h-13zM8 6.5v3M8 11.5v.01",
  attach:
    "M13.5 7.5 8 13a3.2 3.2 0 0 1-4.5-4.5L9.7 2.3a2.1 2.1 0 0 1 3 3L6.6 11.4a1 1 0 0 1-1.5-1.5L10.5 4.5",
  bars: "M3 13V8M8 13V3M13 13V6",
  bot: "M3 6.5h10v6.5H3zM8 6.5V3M6 9.5v.01M10 9.5v.01",
  chat: "M2.5 4.5a1.5 1.5 0 0 1 1.5-1.5h8a1.5 1.5 0 0 1 1.5 1.5v5A1.5 1.5 0 0 1 12 11H7l-3 2.5V11a1.5 1.5 0 0 1-1.5-1.5z",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5",
  close: "M4 4l8 8M12 4l-8 8",
  contrast: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  download: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  home: "M2.5 7.5 8 2.5l5.5 5M4 6.5v7h8v-7",
  link: "M6.5 9.5 9.5 6.5M7 4.5l1.5-1.5a3 3 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3 3 0 0 1 3 8.5L4.5 7",
  list: "M2.5 4h11M2.5 8h11M2.5 12h11",
  logout: "M6.5 3h-3v10h3M9.5 5.5 12 8l-2.5 2.5M12 8H6",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  more: "M8 3.5v.01M8 8v.01M8 12.5v.01",
  panel: "M2.5 3.5h11v9h-11zM6 3.5v9",
  plug: "M5.5 2v3M10.5 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2.5",
  plus: "M8 3v10M3 8h10",
  pulse: "M1.5 8.5h3L6.5 4l3 8 2-3.5h3",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14",
  send: "M8 13V3.5M4 7.5l4-4 4 4",
  terminal: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.5 10.5h2.5",
  think: "M5.5 10.5a3.8 3.8 0 1 1 5 0v2h-5zM6.5 14.5h3",
  server: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.01M5 11v.01",
  stop: "M4.5 4.5h7v7h-7z",
  tool: "M10.2 2.3a3.4 3.4 0 0 0-4.1 4.4L2.3 10.5a1.6 1.6 0 0 0 2.3 2.3L8.4 9a3.4 3.4 0 0 0 4.4-4.1L10.8 6.9 8.8 6.3 8.2 4.3z",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
} as const;
export type IconName = keyof typeof PATHS;

/** A drawing beside or instead of a label; the label is the element around it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 10.5A2.5 2.5 0 0 1 10.5 8h11a2.5 2.5 0 0 1 2.5 2.5v7a2.5 2.5 0 0 1-2.5 2.5H15l-4.5 4v-4A2.5 2.5 0 0 1 8 17.5z" />
    </svg>
  );
}
