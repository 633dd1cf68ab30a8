/** Columns over the steps, drawn by uPlot. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { theme } from "../../state/theme";
import { count, value } from "../../widgets/format";
import { palette } from "../../widgets/palette";

type Column = (number | null)[];
interface Props {
  title: string;
  step: number[];
  columns: Record<string, Column>;
  /** The selected one of many: it is drawn bold, and the words are about it. */
  strong?: string;
}

const HEIGHT = 110;

export function Chart({ title, step, columns, strong }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const hover = useSignal<number | null>(null);
  useEffect(() => {
    const names = strong === undefined ? Object.keys(columns) : [...Object.keys(columns).filter((name) => name !== strong), strong]; // over the others
    const made = make(box.current!, step, names.map((name) => columns[name] ?? []), strong === undefined ? names.length >> 1 : names.length - 1, (at) => (hover.value = at));
    const watch = new ResizeObserver(([entry]) => made.setSize({ width: Math.max(entry!.contentRect.width, 120), height: HEIGHT }));
    watch.observe(box.current!);
    return () => (watch.disconnect(), made.destroy());
  }, [step, columns, strong, theme.value]);
  const told = strong === undefined ? columns : { [strong]: columns[strong] ?? [] };
  const at = hover.value ?? step.length - 1;
  return (
    <figure class="watched-part">
      <figcaption class="quiet">{title} <span class="faint">{strong} {wordsAt(step, told, at)}</span></figcaption>
      <div ref={box} role="img" aria-label={`${title}, ${count(step.length)} points. Last${strong ? ` of ${strong}` : ""}: ${wordsAt(step, told, step.length - 1)}.`} />
    </figure>
  );
}

/** Describes a point in words. */
export function wordsAt(step: number[], columns: Record<string, Column>, at: number): string {
  const several = Object.keys(columns).length > 1;
  const parts = Object.entries(columns).map(([name, column]) => `${several ? `${name} ` : ""}${shown(column[at])}`);
  return step[at] === undefined ? "" : [`step ${count(step[at]!)}`, ...parts].join(" · ");
}

const shown = (number: number | null | undefined): string => (number === null || number === undefined ? "not finite" : value(number));

function make(box: HTMLDivElement, step: number[], columns: Column[], strong: number, hovered: (at: number | null) => void): uPlot {
  const colours = palette();
  const common = { stroke: colours["text-3"], font: `10px ${colours.sans}`, grid: { stroke: colours.line, width: 1 }, ticks: { show: false } };
  const line = (_: Column, at: number): uPlot.Series => ({ stroke: at === strong ? colours.accent : colours.neg, width: at === strong || columns.length < 4 ? 1.5 : 0.75, points: { show: step.length < 40 && (at === strong || columns.length < 4), size: 4 } });
  const options: uPlot.Options = {
    width: Math.max(box.clientWidth, 120),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 5 } },
    scales: { x: { time: false } },
    axes: [{ ...common, size: 22, grid: { show: false } }, { ...common, size: 58, gap: 4, values: (_, all) => all.map((one) => (one === null ? "" : value(one))) }],
    series: [{}, ...columns.map(line)],
    hooks: { setCursor: [(plot) => hovered(plot.cursor.idx ?? null)] },
  };
  return new uPlot(options, [step, ...columns], box);
}
