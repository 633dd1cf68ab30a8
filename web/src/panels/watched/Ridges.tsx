/** Histograms over the steps: the newest in front. */
import { useSignal, useSignalEffect } from "@preact/signals";
import type { Ridge } from "../../api/types";
import { theme } from "../../state/theme";
import { count, value } from "../../widgets/format";
import { type Palette, palette } from "../../widgets/palette";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { type Box, extent, type Line, lines, nearest } from "./ridge";

const MARGIN = { left: 8, right: 58, top: 6, bottom: 18 };

export function Ridges({ ridges }: { ridges: Ridge[] }) {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const hover = useSignal<number | null>(null);
  const { canvas, paint } = useCanvas(size, (context) => draw(context, size.value, ridges, hover.value));
  useSignalEffect(() => (void theme.value, void hover.value, paint()));
  const point = (event: PointerEvent): void => void (hover.value = nearest(lines(ridges, boxOf(size.value)), event.offsetY));
  const shown = ridges[hover.value ?? ridges.length - 1]!;
  return (
    <figure class="watched-part">
      <figcaption class="quiet">Histograms <span class="faint">{words(shown)}</span></figcaption>
      <canvas ref={canvas} class="ridges" role="img" aria-label={`${count(ridges.length)} histograms. The last: ${words(ridges.at(-1)!)}.`} onPointerMove={point} onPointerLeave={() => (hover.value = null)} />
    </figure>
  );
}

function words({ step, min, max, bins }: Ridge): string {
  return `step ${count(step)} · ${count(bins.reduce((all, one) => all + one, 0))} values from ${value(min)} to ${value(max)}`;
}

function boxOf({ width, height }: Size): Box {
  return { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
}

function draw(context: CanvasRenderingContext2D, size: Size, ridges: Ridge[], hover: number | null): void {
  const [colours, box] = [palette(), boxOf(size)];
  const all = lines(ridges, box);
  context.clearRect(0, 0, size.width, size.height);
  all.forEach((line, at) => drawLine(context, line, colours, at === hover || (hover === null && at === all.length - 1)));
  label(context, size, colours, ridges, all);
}

function drawLine(context: CanvasRenderingContext2D, line: Line, colours: Palette, strong: boolean): void {
  context.beginPath();
  for (const [x, y] of line.points) context.lineTo(x, y);
  context.fillStyle = `${colours.accent}${strong ? "59" : "26"}`;
  context.fill();
  context.strokeStyle = strong ? colours.accent : `${colours.accent}99`;
  context.lineWidth = strong ? 1.5 : 1;
  context.stroke();
}

function label(context: CanvasRenderingContext2D, size: Size, colours: Palette, ridges: Ridge[], all: Line[]): void {
  const [low, high] = extent(ridges);
  context.fillStyle = colours["text-3"];
  context.font = `10px ${colours.sans}`;
  context.textAlign = "left";
  context.fillText(value(low), MARGIN.left, size.height - 5);
  for (const line of new Set([all[0]!, all.at(-1)!])) context.fillText(`step ${line.step}`, size.width - MARGIN.right + 6, line.base);
  context.textAlign = "right";
  context.fillText(value(high), size.width - MARGIN.right, size.height - 5);
}
