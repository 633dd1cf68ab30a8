/** The chart, by uPlot: resident memory, the tensors in it, the limit, the peak, steps, the selected moment. */
import uPlot from "uplot";
import type { Memory } from "../../api/memory";
import { colour } from "../../state/theme";
import { bytes } from "../../widgets/format";
import { type Palette, palette } from "../../widgets/palette";
import { ceiling, floor, limitInSight, pointAt, tops } from "./stacked";

export interface Now {
  at: number | null; // the moment, in seconds
  hovered: (point: number | null) => void;
  choose: (seconds: number) => void;
}

const APART = 52; // pixels between two names of steps

export function plot(box: HTMLElement, memory: Memory, now: Now): uPlot {
  const colours = palette();
  const low = floor(memory);
  const high = tops(memory.kinds).reverse().map((column) => column.map((size) => (size === null ? null : low + size))); // later areas cover the higher ones
  const fills = memory.kinds.map((_, at) => colour(`--memory-${at + 1}`)).reverse();
  const common = { stroke: colours["text-3"], font: `10px ${colours.sans}`, grid: { stroke: colours.line, width: 1 }, ticks: { show: false } };
  const options: uPlot.Options = {
    ...sizeOf(box),
    legend: { show: false },
    padding: [12, 8, 0, 0],
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { show: false } },
    scales: { x: { time: false }, y: { range: [low, ceiling(memory)] } },
    axes: [
      { ...common, size: 20, gap: 2, grid: { show: false }, values: (_, all) => all.map((one) => `${one} s`) },
      { ...common, size: 54, gap: 4, space: 36, values: (_, all) => all.map((one) => bytes(one)) },
    ],
    series: [{}, { stroke: colours["text-2"], width: 1.5, fill: colours.hover, points: { show: memory.seconds.length < 3 } }, ...fills.map((fill) => ({ stroke: fill, width: 0.5, fill, points: { show: false } }))],
    hooks: { drawClear: [(made) => marks(made, memory, colours)], draw: [(made) => (limit(made, memory, colours), peak(made, memory, colours), opened(made, now.at, colours))], setCursor: [(made) => now.hovered(made.cursor.idx ?? null)] },
  };
  const made = new uPlot(options, [memory.seconds, memory.resident, ...high], box);
  made.over.addEventListener("click", () => made.cursor.idx != null && now.choose(memory.seconds[made.cursor.idx]!));
  return made;
}

export const sizeOf = (box: HTMLElement): { width: number; height: number } => ({ width: Math.max(box.clientWidth, 120), height: Math.max(box.clientHeight, 90) });

const ratio = (): number => globalThis.devicePixelRatio || 1;

/** Steps and epochs, with as many names as there is room for. */
function marks({ ctx, bbox, valToPos }: uPlot, memory: Memory, colours: Palette): void {
  let free = bbox.left;
  ctx.save();
  ctx.font = `${10 * ratio()}px ${colours.sans}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left"; // uPlot leaves its own setting
  for (const mark of memory.marks) {
    const x = Math.round(valToPos(mark.seconds, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.fillStyle = colours.line;
    ctx.fillRect(x, bbox.top, ratio(), bbox.height);
    if (x < free || x + APART * ratio() > bbox.left + bbox.width) continue;
    ctx.fillStyle = colours["text-3"];
    ctx.fillText(mark.name, x + 3 * ratio(), 1);
    free = x + APART * ratio();
  }
  ctx.restore();
}

function limit({ ctx, bbox, valToPos }: uPlot, memory: Memory, colours: Palette): void {
  if (!limitInSight(memory)) return;
  const y = Math.round(valToPos(memory.limit!, "y", true));
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colours.bad;
  ctx.lineWidth = ratio();
  ctx.setLineDash([5 * ratio(), 4 * ratio()]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${10 * ratio()}px ${colours.sans}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.fillText(`limit ${bytes(memory.limit!)}`, bbox.left + 4 * ratio(), y + 2 * ratio());
  ctx.restore();
}

function peak({ ctx, bbox, valToPos }: uPlot, memory: Memory, colours: Palette): void {
  const [x, y] = [valToPos(memory.at, "x", true), valToPos(memory.resident[pointAt(memory.seconds, memory.at)]!, "y", true)];
  ctx.save();
  ctx.fillStyle = colours.text;
  ctx.beginPath();
  ctx.arc(x, y, 3 * ratio(), 0, 2 * Math.PI);
  ctx.fill();
  ctx.font = `600 ${10 * ratio()}px ${colours.sans}`;
  ctx.textBaseline = "top";
  ctx.textAlign = x + 40 * ratio() > bbox.left + bbox.width ? "right" : "left";
  ctx.fillText("peak", x + (ctx.textAlign === "right" ? -6 : 6) * ratio(), y + 6 * ratio());
  ctx.restore();
}

function opened({ ctx, bbox, valToPos }: uPlot, at: number | null, colours: Palette): void {
  if (at === null) return;
  const x = Math.round(valToPos(at, "x", true));
  ctx.save();
  ctx.fillStyle = colours.accent;
  ctx.fillRect(x - ratio() / 2, bbox.top, ratio(), bbox.height);
  ctx.beginPath();
  ctx.moveTo(x - 4 * ratio(), bbox.top);
  ctx.lineTo(x + 4 * ratio(), bbox.top);
  ctx.lineTo(x, bbox.top + 5 * ratio());
  ctx.fill();
  ctx.restore();
}
