import { useEffect, useRef } from "preact/hooks";
import type { Drawn, Line } from "./draw.ts";

/** Lines over time. Drawn on a canvas by a library that only this needs; its figures are in the table below. */
export function TimePlot(props: {
  title: string;
  unit: string;
  /** What the lines show, in a few words. */
  said: string;
  times: readonly number[];
  series: readonly Line[];
  show: (value: number) => string;
}) {
  const { title, unit, said, times, series, show } = props;
  const area = useRef<HTMLDivElement>(null);
  const plot = useRef<Drawn | null>(null);
  const latest = useRef({ times, series });
  latest.current = { times, series };
  useEffect(() => {
    let gone = false;
    void import("./draw.ts").then(({ drawPlot }) => {
      if (gone || !area.current) return;
      const { times: at, series: lines } = latest.current;
      plot.current = drawPlot(area.current, at, lines, show);
    });
    return () => {
      gone = true;
      plot.current?.end();
    };
  }, []);
  useEffect(() => plot.current?.update(times, series), [times, series]);
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> <span class="hint">{unit}</span>
      </figcaption>
      <div ref={area} class="chart-area" role="img" aria-label={`${title}: ${said}`} />
      <ul class="chart-names" aria-hidden="true">
        {series.map(({ name, colour }) => (
          <li key={name} class={`key ${colour}`}>
            {name}
          </li>
        ))}
      </ul>
    </figure>
  );
}
