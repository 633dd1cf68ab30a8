/** Draws the scalar above the lanes: a band from lowest to highest, a line of the last value; red if it is not finite. */
import type { Points } from "../../api/types";
import { value } from "../../widgets/format";
import { clipped } from "./draw";
import type { Scene } from "./hit";
import type { Palette } from "../../widgets/palette";
import { heights, share, type Heights } from "./scalarline";
import { toX } from "./view";

type Context = CanvasRenderingContext2D;
const PAD = { top: 12, bottom: 16 }; // below: marks of non-finite values

export function drawScalar(context: Context, scene: Scene, palette: Palette): void {
  const { plot, width } = scene.geometry;
  if (!plot.height || !scene.points) return;
  const scale = heights(scene.points, scene.view);
  clipped(context, 0, plot.top, width, plot.height, () => {
    if (scale) drawLine(context, scene, scene.points!, scale, palette);
    drawBad(context, scene, scene.points!, palette);
  });
  if (scale) drawScale(context, scene, scale, palette);
}

const yOf = ({ geometry: { plot } }: Scene, scale: Heights, at: number): number => plot.top + PAD.top + (1 - share(at, scale)) * (plot.height - PAD.top - PAD.bottom);

function drawLine(context: Context, scene: Scene, points: Points, scale: Heights, palette: Palette): void {
  const x = (at: number): number => toX(scene.view, scene.geometry.width, points.time[at]!);
  context.fillStyle = context.strokeStyle = palette.accent;
  context.globalAlpha = 0.18;
  for (const [from, to] of finite(points)) {
    context.beginPath();
    for (let at = from; at < to; at++) context.lineTo(x(at), yOf(scene, scale, points.high[at]!));
    for (let at = to - 1; at >= from; at--) context.lineTo(x(at), yOf(scene, scale, points.low[at]!));
    context.fill();
  }
  context.globalAlpha = 1;
  context.lineWidth = 1.4;
  context.lineJoin = "round";
  for (const [from, to] of finite(points)) {
    context.beginPath();
    for (let at = from; at < to; at++) context.lineTo(x(at), yOf(scene, scale, points.value[at]!));
    context.stroke();
    if (to - from === 1) dot(context, x(from), yOf(scene, scale, points.value[from]!), 2);
  }
}

/** Stretches of points that have a finite value. */
function finite(points: Points): [number, number][] {
  const all: [number, number][] = [];
  for (let at = 0; at < points.time.length; at++) {
    if (points.value[at] == null || points.low[at] == null) continue;
    const begin = at;
    while (at < points.time.length && points.value[at] != null && points.low[at] != null) at++;
    all.push([begin, at]);
  }
  return all;
}

function drawBad(context: Context, { view, geometry }: Scene, points: Points, palette: Palette): void {
  context.fillStyle = palette.nan;
  let before = -Infinity;
  for (let at = 0; at < points.time.length; at++) {
    const x = toX(view, geometry.width, points.time[at]!);
    if (points.value[at] != null || x < -4 || x > geometry.width + 4 || x - before < 2) continue;
    before = x;
    context.fillRect(x - 1.5, geometry.plot.top + geometry.plot.height - 6, 3, 4);
  }
}

function dot(context: Context, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawScale(context: Context, scene: Scene, scale: Heights, palette: Palette): void {
  context.font = `10px ${palette.mono}`;
  context.textAlign = "right";
  const right = scene.geometry.width - 6;
  for (const at of new Set([scale.high, scale.low])) {
    const text = value(at);
    const y = yOf(scene, scale, at);
    context.fillStyle = palette.surface;
    context.globalAlpha = 0.75;
    context.fillRect(right - context.measureText(text).width - 3, y - 6, context.measureText(text).width + 6, 12);
    context.globalAlpha = 1;
    context.fillStyle = palette["text-2"];
    context.fillText(text, right, y);
  }
}
