import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { effect } from "@preact/signals";
import { clockTime } from "../../components/format.ts";
import { theme } from "../../state/theme.ts";

export interface Line {
  name: string;
  values: readonly (number | null)[];
  /** Name of one of the page's colours. */
  colour: "accent" | "ok" | "warning";
}

const HEIGHT = 160;

/** The page's colours as they are now: a canvas takes no `light-dark()`. */
function colours(area: HTMLElement): (name: string) => string {
  const probe = document.createElement("span");
  area.append(probe);
  const found = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const known = new Map(["accent", "ok", "warning", "muted", "line"].map((name) => [name, found(name)]));
  probe.remove();
  return (name) => known.get(name) ?? "currentColor";
}

const dataOf = (times: readonly number[], lines: readonly Line[]) =>
  [[...times], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData;

/** A plot that stands on the page. */
export interface Drawn {
  update(times: readonly number[], lines: readonly Line[]): void;
  end(): void;
}

/** Draws lines over time into an element, anew when its width or the colours of the page change. */
export function drawPlot(
  area: HTMLElement,
  times: readonly number[],
  lines: readonly Line[],
  show: (value: number) => string,
): Drawn {
  let data = dataOf(times, lines);
  let plot: uPlot | undefined;
  const draw = () => {
    plot?.destroy();
    const colour = colours(area);
    const axis = {
      stroke: colour("muted"),
      grid: { stroke: colour("line") },
      ticks: { stroke: colour("line") },
    };
    const options: uPlot.Options = {
      width: area.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_, __, most) => [0, Math.max(most * 1.05, 1)] } },
      axes: [
        { ...axis, space: 60, values: (_, ticks) => ticks.map((at) => clockTime(at * 1000)) },
        { ...axis, size: 68, values: (_, ticks) => ticks.map(show) },
      ],
      series: [
        {},
        ...lines.map(({ name, colour: own, values }) => ({
          label: name,
          stroke: colour(own),
          width: 1.5,
          // A value between two unknown ones is a point.
          points: { show: values.includes(null), size: 4 },
        })),
      ],
    };
    plot = new uPlot(options, data, area);
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const control = new AbortController();
  dark.addEventListener("change", draw, { signal: control.signal });
  let width = area.clientWidth;
  const observer = new ResizeObserver(() => {
    if (area.clientWidth === width) return;
    width = area.clientWidth;
    plot?.setSize({ width, height: HEIGHT });
  });
  observer.observe(area);
  const unwatched = effect(() => {
    void theme.value;
    draw();
  });
  return {
    update(nextTimes, nextLines) {
      data = dataOf(nextTimes, nextLines);
      plot?.setData(data);
    },
    end() {
      control.abort();
      observer.disconnect();
      unwatched();
      plot?.destroy();
    },
  };
}
