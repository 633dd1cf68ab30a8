/** Draws the timeline; everything is in pixels of the page. */
import { type Columns, columns } from "./bins";
import { drawScalar } from "./drawscalar";
import { AXIS, LANE, STEPS } from "./geometry";
import type { Scene } from "./hit";
import type { Palette } from "../../widgets/palette";
import type { Row } from "./rows";
import { epochs, numbered } from "./steps";
import { duration, roundStep, ticks, toX } from "./view";

export interface Marks {
  focus: { time: number; lane: string } | null;
  pointer: number | null; // x
}

type Context = CanvasRenderingContext2D;
const ROOM = LANE - 7; // of the highest bar
const EPOCH = 110; // pixels for the name of an epoch, and for the numbers of the scalar beside it

export function draw(context: Context, scene: Scene, marks: Marks, palette: Palette): void {
  const { width, height } = scene.geometry;
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  drawSteps(context, scene, palette);
  clipped(context, 0, scene.geometry.lanes.top, width, scene.geometry.lanes.height, () => drawLanes(context, scene, palette));
  drawScalar(context, scene, palette);
  drawAxis(context, scene, palette);
  drawPointer(context, scene, marks, palette);
  drawFocus(context, scene, marks, palette);
}

export function clipped(context: Context, x: number, y: number, width: number, height: number, inside: () => void): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  inside();
  context.restore();
}

function drawAxis(context: Context, { view, geometry }: Scene, palette: Palette): void {
  const count = Math.max(Math.floor(geometry.width / 110), 1);
  const step = roundStep((view.to - view.from) / count);
  context.font = `11px ${palette.sans}`;
  context.fillStyle = palette["text-3"];
  context.textAlign = "left";
  for (const time of ticks(view, count)) {
    const x = Math.round(toX(view, geometry.width, time));
    context.fillRect(x, AXIS - 5, 1, 5);
    if (x < geometry.width - 40) context.fillText(duration(time, step), x + 4, AXIS / 2);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, AXIS - 1, geometry.width, 1);
  context.fillRect(0, AXIS + STEPS - 1, geometry.width, 1);
}

function drawSteps(context: Context, { bands, geometry }: Scene, palette: Palette): void {
  const apart = bands.length > 1 ? (bands[bands.length - 1]!.left - bands[0]!.left) / (bands.length - 1) : geometry.width;
  const gap = apart > 4 ? 1 : 0;
  for (const band of bands) {
    const wide = Math.max(band.right - band.left, apart < 3 ? apart + 0.5 : 0, 1) - gap;
    context.fillStyle = palette.hover;
    context.fillRect(band.left, AXIS + 2, Math.max(wide, 1), STEPS - 5);
    if (band.bad) {
      context.fillStyle = palette.nan;
      context.fillRect(band.left, AXIS + STEPS - 4, Math.max(wide, 2), 2);
    }
    if (apart < 14) continue;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(band.left), AXIS + STEPS, 1, geometry.height);
  }
  drawNumbers(context, bands, palette);
  drawEpochs(context, { bands, geometry }, palette);
}

function drawNumbers(context: Context, bands: Scene["bands"], palette: Palette): void {
  context.font = `11px ${palette.mono}`;
  context.textAlign = "left";
  for (const { x, step } of numbered(bands, 46)) {
    const left = Math.max(x, 0);
    context.fillStyle = palette.hover;
    context.fillRect(left, AXIS + 2, context.measureText(String(step)).width + 7, STEPS - 6);
    context.fillStyle = bands.some((band) => band.left === x && band.bad) ? palette.bad : palette["text-2"];
    context.fillText(String(step), left + 3, AXIS + STEPS / 2 - 1);
  }
}

function drawEpochs(context: Context, { bands, geometry }: Pick<Scene, "bands" | "geometry">, palette: Palette): void {
  context.font = `10px ${palette.sans}`;
  context.textAlign = "left";
  let free = -Infinity;
  for (const { x, epoch } of epochs(bands)) {
    context.fillStyle = palette["line-strong"];
    context.fillRect(Math.round(x), AXIS, 1, geometry.height);
    if (x < free || x < 0 || x > geometry.width - EPOCH) continue; // the numbers of the scalar are at the right
    context.fillStyle = palette["text-3"];
    context.fillText(`epoch ${epoch}`, x + 4, geometry.plot.height ? geometry.plot.top + 8 : geometry.height - 7);
    free = x + 60;
  }
}

function drawLanes(context: Context, scene: Scene, palette: Palette): void {
  const { geometry, rows } = scene;
  for (const row of rows) {
    const top = geometry.lanes.top + row.top - geometry.scroll;
    if (top + row.height < geometry.lanes.top || top > geometry.height) continue;
    context.fillStyle = palette.line;
    context.fillRect(0, Math.round(top), geometry.width, 1);
    drawLane(context, scene, row, top, palette);
  }
}

/** The density of a stretch, as a bar; bad parts glow, and are never too thin to see. */
function drawLane(context: Context, { geometry, timeline, view }: Scene, row: Row, top: number, palette: Palette): void {
  const all = columns(row.lane, timeline, view, Math.ceil(geometry.width));
  const floor = top + LANE - 3;
  for (const [from, to] of stretches(all.bad)) glow(context, palette.nan, from, floor - ROOM, Math.max(to - from, 2), ROOM);
  fillBars(context, all, floor, 0, row.depth ? palette.pos : palette.neg);
  fillBars(context, all, floor, 1, palette.nan);
}

function fillBars(context: Context, { count, bad, most }: Columns, floor: number, which: 0 | 1, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  for (let x = 0; x < count.length; x++) {
    if (!count[x] || bad[x] !== which) continue;
    const high = ROOM * ((which ? 0.45 : 0.2) + ((which ? 0.55 : 0.8) * Math.log1p(count[x]!)) / Math.log1p(most));
    const alone = which && !bad[x - 1] && !bad[x + 1];
    context.rect(x, floor - high, alone ? 2 : 1, high);
  }
  context.fill();
}

/** Consecutive bad columns. */
function stretches(bad: Uint8Array): [number, number][] {
  const all: [number, number][] = [];
  for (let x = 0; x < bad.length; x++) {
    if (!bad[x]) continue;
    const begin = x;
    while (bad[x]) x++;
    all.push([begin, x]);
  }
  return all;
}

function glow(context: Context, colour: string, x: number, y: number, wide: number, high: number): void {
  context.fillStyle = colour;
  for (const [out, alpha] of [[6, 0.07], [4, 0.09], [2, 0.12]] as const) {
    context.globalAlpha = alpha;
    context.fillRect(x - out, y - Math.min(out, 3), wide + 2 * out, high + Math.min(out, 3));
  }
  context.globalAlpha = 1;
}

function drawPointer(context: Context, { geometry }: Scene, { pointer }: Marks, palette: Palette): void {
  if (pointer === null) return;
  context.fillStyle = palette["line-strong"];
  context.fillRect(Math.round(pointer), AXIS, 1, geometry.height);
}

/** The tensor in focus: a line at its moment, a diamond on its lane. */
function drawFocus(context: Context, { geometry, view, rows }: Scene, { focus }: Marks, palette: Palette): void {
  if (!focus || focus.time < view.from || focus.time > view.to) return;
  const x = toX(view, geometry.width, focus.time);
  context.fillStyle = palette.accent;
  context.fillRect(Math.round(x) - 0.5, AXIS, 1.5, geometry.height);
  polygon(context, [[x - 5, AXIS - 6], [x + 5, AXIS - 6], [x, AXIS + 1]]);
  const row = rows.find((one) => one.id === focus.lane);
  const y = row ? geometry.lanes.top + row.top - geometry.scroll + LANE / 2 : -1;
  if (y < geometry.lanes.top) return;
  context.strokeStyle = palette.surface;
  context.lineWidth = 2;
  polygon(context, [[x - 5, y], [x, y - 6], [x + 5, y], [x, y + 6]], true);
}

function polygon(context: Context, corners: [number, number][], outlined = false): void {
  context.beginPath();
  for (const [x, y] of corners) context.lineTo(x, y);
  context.closePath();
  if (outlined) context.stroke();
  context.fill();
}
