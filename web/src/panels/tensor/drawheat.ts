/** Draws a heat map: a colour for each cell; NaN and infinities are red with a sign, which no shade of the scale is. */
import type { Palette } from "../../widgets/palette";
import { colour, css, type Ends, position, type Range } from "./colour";
import type { Heat } from "./heat";

type Context = CanvasRenderingContext2D;

export function drawHeat(context: Context, heat: Heat, cell: { wide: number; high: number }, scale: Range, ends: Ends, palette: Palette, cursor: { row: number; column: number } | null): void {
  const gap = Math.min(cell.wide, cell.high) > 7 ? 1 : 0;
  context.clearRect(0, 0, cell.wide * heat.columns, cell.high * heat.rows);
  for (let at = 0; at < heat.rows * heat.columns; at++) {
    const x = (at % heat.columns) * cell.wide;
    const y = Math.floor(at / heat.columns) * cell.high;
    const number = heat.cells[at] ?? null;
    context.fillStyle = number === null ? palette.surface : css(colour(position(number, scale), ends));
    context.fillRect(x, y, cell.wide - gap + 0.3, cell.high - gap + 0.3);
    const mark = heat.bad[at];
    if (mark && mark !== ".") drawBad(context, mark, x, y, cell.wide - gap, cell.high - gap, palette);
  }
  if (cursor) outline(context, cursor.column * cell.wide, cursor.row * cell.high, cell, palette);
}

/** A cross for NaN, an arrow up or down for an infinity; in a small cell, the whole of it, its upper or its lower half. */
function drawBad(context: Context, mark: string, x: number, y: number, wide: number, high: number, palette: Palette): void {
  const small = Math.min(wide, high) < 7;
  const half = small && mark !== "n" ? high / 2 : high;
  context.fillStyle = palette.nan;
  context.fillRect(x, mark === "-" ? y + high - half : y, wide, half);
  if (small) return;
  context.fillStyle = context.strokeStyle = palette.surface;
  if (mark === "n") cross(context, x, y, wide, high);
  else arrow(context, x + wide / 2, y + high / 2, Math.min(wide, high) * 0.26, mark === "+" ? -1 : 1);
}

function arrow(context: Context, x: number, y: number, arm: number, down: 1 | -1): void {
  context.beginPath();
  context.moveTo(x - arm, y - down * arm * 0.8);
  context.lineTo(x + arm, y - down * arm * 0.8);
  context.lineTo(x, y + down * arm);
  context.fill();
}

function cross(context: Context, x: number, y: number, wide: number, high: number): void {
  const arm = Math.min(wide, high) * 0.28;
  const [middle, centre] = [x + wide / 2, y + high / 2];
  context.lineWidth = Math.max(arm / 3, 1);
  context.beginPath();
  context.moveTo(middle - arm, centre - arm);
  context.lineTo(middle + arm, centre + arm);
  context.moveTo(middle + arm, centre - arm);
  context.lineTo(middle - arm, centre + arm);
  context.stroke();
}

function outline(context: Context, x: number, y: number, cell: { wide: number; high: number }, palette: Palette): void {
  context.lineWidth = 3;
  context.strokeStyle = palette.surface;
  context.strokeRect(x, y, cell.wide, cell.high);
  context.lineWidth = 1.5;
  context.strokeStyle = palette.accent;
  context.strokeRect(x, y, cell.wide, cell.high);
}
