import { useSignal } from "@preact/signals";
import { formatDay } from "../../components/format.ts";
import type { Day } from "./days.ts";

/** Width of a day and of its bar, and height of the plot, in units of its own. */
const STEP = 10;
const BAR = 8;
const HEIGHT = 100;
/** What is not nothing can be seen. */
const LEAST = 1.5;

const MOVES: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  Home: () => 0,
  End: (_, last) => last,
};

/** Bars by day. The arrow keys, or a pointer, choose the day whose value stands below; the table has them all. */
export function Plot({
  days,
  measured,
  show,
  what,
}: {
  days: readonly Day[];
  measured: (day: Day) => number;
  show: (value: number) => string;
  what: string;
}) {
  const chosen = useSignal<string | undefined>(undefined);
  const last = days.length - 1;
  const found = days.findIndex(({ day }) => day === chosen.value);
  const at = found < 0 ? last : found;
  const most = Math.max(...days.map(measured));
  const day = days[at];
  if (!day) return null;
  const choose = (nth: number) => {
    chosen.value = days[Math.min(last, Math.max(0, nth))]?.day;
  };
  const said = `${formatDay(day.day)}: ${show(measured(day))}`;
  return (
    <figure class="plot">
      <p class="plot-most">{most > 0 ? `Most: ${show(most)}` : "Nothing in these days."}</p>
      <div
        class="plot-area"
        role="slider"
        tabIndex={0}
        aria-label={`${what} by day`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={said}
        onPointerMove={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect();
          choose(Math.floor(((clientX - left) / width) * days.length));
        }}
        onKeyDown={(event) => {
          const move = MOVES[event.key];
          if (!move) return;
          event.preventDefault();
          choose(move(at, last));
        }}
      >
        <svg viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {days.map((one, nth) => {
            const value = measured(one);
            const height = value > 0 ? Math.max(LEAST, (value / most) * HEIGHT) : 0;
            return (
              <g key={one.day} class={nth === at ? "bar chosen" : "bar"}>
                <rect x={nth * STEP + (STEP - BAR) / 2} y={HEIGHT - height} width={BAR} height={height} />
              </g>
            );
          })}
        </svg>
      </div>
      <div class="plot-ends" aria-hidden="true">
        <span>{formatDay(days[0]!.day)}</span>
        <span>{formatDay(days[last]!.day)}</span>
      </div>
      <figcaption>{said}</figcaption>
    </figure>
  );
}
