/** What the colours of a heat map mean. */
import { value } from "../../widgets/format";
import { colour, css, type Ends, position, type Range } from "./colour";
import type { Heat } from "./heat";

const STEPS = 11;

export function HeatLegend({ heat, scale, ends }: { heat: Heat; scale: Range; ends: Ends }) {
  const marks = ([["n", "NaN"], ["+", "+∞"], ["-", "−∞"]] as const).filter(([mark]) => heat.bad.includes(mark));
  const values = Array.from({ length: STEPS }, (_, at) => scale.low + ((scale.high - scale.low) * at) / (STEPS - 1));
  return (
    <div class="heat-legend">
      {heat.low !== null && (
        <>
          <span>{value(scale.low)}</span>
          <span class="heat-scale" aria-hidden="true">
            {values.map((at) => <span key={at} style={{ background: css(colour(position(at, scale), ends)) }} />)}
          </span>
          <span>{value(scale.high)}</span>
        </>
      )}
      {marks.map(([mark, word]) => (
        <span key={mark} class="heat-mark">
          <span class="heat-bad" aria-hidden="true">{mark === "n" ? "×" : mark === "+" ? "▲" : "▼"}</span> {word}
        </span>
      ))}
    </div>
  );
}
