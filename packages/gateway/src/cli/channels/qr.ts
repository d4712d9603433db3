/** Black on white, whatever the terminal's colours, because cameras need it. */
const INK = "\x1b[30;107m";
const RESET = "\x1b[0m";
/** Indexed by whether the upper and the lower module are dark. */
const HALVES = [
  [" ", "▄"],
  ["▀", "█"],
] as const;

/** Modules of the gateway's QR code, an SVG of squares; undefined for any other image. */
function modulesOf(dataUrl: string): { size: number; dark: Set<string> } | undefined {
  const [head = "", data = ""] = dataUrl.split(",", 2);
  if (head !== "data:image/svg+xml;base64") return undefined;
  const svg = Buffer.from(data, "base64").toString("utf8");
  const width = Number(/viewBox="0 0 (\d+) \d+"/.exec(svg)?.[1]);
  const step = Number(/h(\d+)v/.exec(svg)?.[1]);
  if (!(width > 0 && step > 0)) return undefined;
  const squares = [...svg.matchAll(/M(\d+),(\d+)h/g)];
  const dark = new Set(squares.map(([, x, y]) => `${Number(x) / step},${Number(y) / step}`));
  return { size: Math.ceil(width / step), dark };
}

/** The QR code as text for a terminal, two rows per line; undefined if it cannot be drawn. */
export function drawQr(dataUrl: string): string | undefined {
  const modules = modulesOf(dataUrl);
  if (!modules) return undefined;
  const { size, dark } = modules;
  const isDark = (x: number, y: number) => (dark.has(`${x},${y}`) ? 1 : 0);
  const line = (y: number) =>
    Array.from({ length: size }, (_, x) => HALVES[isDark(x, y)]![isDark(x, y + 1)]).join("");
  const lines = Array.from({ length: Math.ceil(size / 2) }, (_, row) => `${INK}${line(row * 2)}${RESET}\n`);
  return lines.join("");
}
