/** A tensor's range and mean over the run, drawn by uPlot; bad points in red; a click goes to that moment. */
import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { History } from "../../api/types";
import { setFocus } from "../../state/focus";
import { theme } from "../../state/theme";
import { value } from "../../widgets/format";
import { type Palette, palette } from "../../widgets/palette";
import { bentSplits, series, spansPowers, stepLabels } from "./series";

interface Props {
  history: History;
  at: number; // the point in focus; -1: none
  hover: Signal<number | null>;
  summary: string;
}

const HEIGHT = 132;

export function HistoryChart({ history, at, hover, summary }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const now = useRef({ at });
  const plot = useRef<uPlot | null>(null);
  now.current.at = at;
  useEffect(() => {
    const made = make(box.current!, history, now.current, hover);
    plot.current = made;
    const watch = new ResizeObserver(([entry]) => made.setSize({ width: Math.max(entry!.contentRect.width, 120), height: HEIGHT }));
    watch.observe(box.current!);
    return () => (watch.disconnect(), made.destroy());
  }, [history, theme.value]);
  useEffect(() => plot.current?.redraw(false), [at]);
  return <div ref={box} class="history-chart" role="img" aria-label={summary} />;
}

function make(box: HTMLDivElement, history: History, now: { at: number }, hover: Signal<number | null>): uPlot {
  const colours = palette();
  const { x, min, mean, max } = series(history);
  const edge = mean.some((one) => one !== null) ? colours.neg : colours.accent; // the only line if the mode has no mean
  const options: uPlot.Options = {
    width: Math.max(box.clientWidth, 120),
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 5 } },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] }, y: { distr: spansPowers(history) ? 4 : 1 } },
    axes: axes(history, colours),
    series: [
      {},
      { stroke: edge, width: 1, points: { show: x.length < 2 } },
      { stroke: colours.accent, width: 1.5, points: { show: x.length < 40, size: 4, fill: colours.accent } },
      { stroke: edge, width: 1 },
    ],
    bands: [{ series: [3, 1], fill: `${colours.neg}40` }],
    hooks: {
      draw: [(plot) => (drawBad(plot, history, colours), drawFocus(plot, now.at, colours))],
      setCursor: [(plot) => void (hover.value = plot.cursor.idx ?? null)],
    },
  };
  const plot = new uPlot(options, [x, min, mean, max], box);
  plot.over.addEventListener("click", () => focusPoint(history, plot.cursor.idx));
  return plot;
}

function axes(history: History, colours: Palette): uPlot.Axis[] {
  const common = { stroke: colours["text-3"], font: `10px ${colours.sans}`, grid: { stroke: colours.line, width: 1 }, ticks: { show: false } };
  return [
    { ...common, size: 22, grid: { show: false }, splits: (_, __, low, high) => places(low, high), values: (_, all) => stepLabels(history, all) },
    { ...common, size: 58, gap: 4, ...(spansPowers(history) ? BENT : {}), values: (_, all) => all.map((number) => (number === null ? "" : value(number))) },
  ];
}

/** uPlot finds no round numbers for ranges beyond 1e32, which overflows reach. */
const BENT: Partial<uPlot.Axis> = { incrs: (_, __, low, high) => [high - low], splits: (_, __, low, high) => bentSplits(low, high), filter: (_, all) => all };

/** Up to seven integer points, evenly spaced. */
function places(low: number, high: number): number[] {
  const [first, last] = [Math.ceil(low), Math.floor(high)];
  const every = Math.max(Math.ceil((last - first + 1) / 7), 1);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, at) => first + at * every);
}

/** The bad share of a point, as a bar from below: never too thin or too low to see. */
function drawBad({ ctx, bbox, valToPos }: uPlot, history: History, colours: Palette): void {
  const wide = Math.max(bbox.width / Math.max(history.ids.length, 1) - 1, 2);
  ctx.save();
  ctx.fillStyle = colours.nan;
  for (const at of series(history).bad) {
    const share = (history.nan[at]! + history.inf[at]!) / Math.max(history.elements[at]!, 1);
    const x = valToPos(at, "x", true) - wide / 2;
    const high = Math.max(bbox.height * share, 6);
    ctx.globalAlpha = 0.28;
    ctx.fillRect(x, bbox.top + bbox.height - high, wide, high);
    ctx.globalAlpha = 1;
    ctx.fillRect(x, bbox.top + bbox.height - 4, wide, 4);
  }
  ctx.restore();
}

function drawFocus({ ctx, bbox, valToPos }: uPlot, at: number, colours: Palette): void {
  if (at < 0) return;
  const ratio = globalThis.devicePixelRatio || 1;
  const x = Math.round(valToPos(at, "x", true));
  ctx.save();
  ctx.fillStyle = colours.accent;
  ctx.fillRect(x - ratio / 2, bbox.top, ratio, bbox.height);
  ctx.beginPath();
  ctx.moveTo(x - 4 * ratio, bbox.top);
  ctx.lineTo(x + 4 * ratio, bbox.top);
  ctx.lineTo(x, bbox.top + 5 * ratio);
  ctx.fill();
  ctx.restore();
}

function focusPoint(history: History, at: number | null | undefined): void {
  const id = at === null || at === undefined ? undefined : history.ids[at];
  if (id) setFocus(id);
}
