/** Draws the flame chart; everything is in pixels of the page. */
import type { FlameBar } from "../../api/types";
import { colour } from "../../state/theme";
import { duration, roundStep, ticks, toX, type View } from "../timeline/view";
import { AXIS, type Box, ROW } from "./layout";

export interface Picture {
  boxes: readonly Box[];
  view: View;
  width: number;
  height: number;
  focus: string | null; // the tensor
  under: FlameBar | null;
}

const FILLS = { call: "--raised", function: "--raised", layer: "--hover", eager: "--tinted", input: "--bad-soft", op: "--selected" } as const;
const LABEL = 26; // pixels; narrower bars get no name

/** Reads the theme's signal. */
export function draw(context: CanvasRenderingContext2D, picture: Picture): void {
  const { width, height } = picture;
  context.fillStyle = colour("--surface");
  context.fillRect(0, 0, width, height);
  axis(context, picture);
  context.font = `11px ${colour("--sans")}`;
  context.textBaseline = "middle";
  const fills = Object.fromEntries(Object.entries(FILLS).map(([kind, name]) => [kind, colour(name)])) as Record<FlameBar["kind"], string>;
  const [line, text, hover, accent] = ["--line-strong", "--text", "--text-3", "--accent"].map(colour) as [string, string, string, string];
  for (const box of picture.boxes) {
    context.fillStyle = fills[box.bar.kind];
    context.fillRect(box.left, box.top, box.width, ROW - 1);
    edge(context, box, line);
    name(context, box, text, width);
    if (box.bar.tensor !== null && box.bar.tensor === picture.focus) outline(context, box, accent);
    else if (box.bar === picture.under) outline(context, box, hover);
  }
}

/** A line at the left separates neighbours, if there is room for one. */
function edge(context: CanvasRenderingContext2D, { left, top, width }: Box, line: string): void {
  if (width < 3) return;
  context.fillStyle = line;
  context.fillRect(left, top, 1, ROW - 1);
}

function name(context: CanvasRenderingContext2D, { bar, left, top, width }: Box, text: string, whole: number): void {
  const [begin, end] = [Math.max(left, 0), Math.min(left + width, whole)]; // a bar that extends beyond the screen is labelled in its visible part
  if (end - begin < LABEL) return;
  context.save();
  context.beginPath();
  context.rect(begin, top, end - begin - 2, ROW);
  context.clip();
  context.fillStyle = text;
  context.fillText(bar.name, begin + 5, top + ROW / 2);
  context.restore();
}

function outline(context: CanvasRenderingContext2D, { left, top, width }: Box, line: string): void {
  context.strokeStyle = line;
  context.lineWidth = 2;
  context.strokeRect(left, top, Math.max(width, 2), ROW - 1);
}

function axis(context: CanvasRenderingContext2D, { view, width, height }: Picture): void {
  const step = roundStep((view.to - view.from) / Math.max(width / 110, 1));
  context.font = `11px ${colour("--sans")}`;
  context.textBaseline = "middle";
  for (const time of ticks(view, width / 110)) {
    const x = toX(view, width, time);
    context.fillStyle = colour("--line");
    context.fillRect(x, 0, 1, height);
    context.fillStyle = colour("--text-3");
    context.fillText(duration(time, step), x + 4, AXIS / 2);
  }
}
