/** Memory over time: a click, or the arrow keys, select a moment. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Memory } from "../../api/memory";
import { theme } from "../../state/theme";
import { bytes } from "../../widgets/format";
import { plot, sizeOf } from "./plot";
import { floor, pointAt, present } from "./stacked";
import { showMoment } from "./state";
import { pointWords, summary } from "./words";

const BY: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 };

export function MemoryChart({ memory, at }: { memory: Memory; at: number | null }) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<uPlot | null>(null);
  const hover = useSignal<number | null>(null);
  const now = useRef({ at, hovered: (point: number | null) => void (hover.value = point), choose: showMoment });
  now.current.at = at;
  useEffect(() => {
    const element = box.current!; // `box` may be empty when the last change of size is reported
    const one = (made.current = plot(element, memory, now.current));
    const watch = new ResizeObserver(() => one.setSize(sizeOf(element)));
    watch.observe(element);
    return () => (watch.disconnect(), one.destroy());
  }, [memory, theme.value]);
  useEffect(() => made.current?.redraw(false), [at]);
  const point = at === null ? null : pointAt(memory.seconds, at);
  const press = (event: KeyboardEvent): void => {
    const next = event.key === "Home" ? null : point !== null && event.key in BY ? Math.min(Math.max(point + BY[event.key]!, 0), memory.seconds.length - 1) : undefined;
    if (next === undefined) return;
    showMoment(next === null ? null : memory.seconds[next]!);
    event.preventDefault();
    event.stopPropagation();
  };
  const [told, low] = [hover.value ?? point, floor(memory)];
  return (
    <div class="memory-over" tabIndex={0} role="group" onKeyDown={press} aria-label="Memory over time. Left and right open the moment before and after, Home the peak.">
      <p class="memory-now quiet">
        <span class="cut">{told === null ? " " : pointWords(memory, Math.min(told, memory.seconds.length - 1))}</span>
        {low > 0 && <span class="faint" title="The least that was resident: it was there all the time">from {bytes(low)} up</span>}
      </p>
      <div class="memory-plot" ref={box} role="img" aria-label={summary(memory)} />
      <Legend memory={memory} />
    </div>
  );
}

function Legend({ memory }: { memory: Memory }) {
  const there = present(memory.kinds);
  return (
    <ul class="memory-legend" aria-label="Colours">
      {memory.kinds.map(({ kind }, at) => there.includes(kind) && <li key={kind}><span class={`memory-swatch memory-kind-${at + 1}`} aria-hidden="true" /> {kind}</li>)}
      <li><span class="memory-swatch memory-kind-none" aria-hidden="true" /> not in tensors</li>
    </ul>
  );
}
