/** Draws layers by steps: a row for each layer with its name, a column for each sample. */
import type { Layers } from "../../api/inside";
import type { Cell } from "../../widgets/cells";
import { short } from "../../widgets/format";
import { abbreviated, withoutScopes } from "../../widgets/names";
import type { Palette } from "../../widgets/palette";
import { colour, css, type Ends } from "../tensor/colour";
import { position, type Scale } from "./scale";

type Context = CanvasRenderingContext2D;

export interface Frame {
  scopes: string; // the common beginning of all names, which is left out
  left: number;
  wide: number; // of a cell
  high: number;
}

const WIDEST = 44;
const LETTER = 5.7; // pixels
export const AXIS = 18; // below the cells

export function frame({ rows, steps }: Layers, scopes: string, width: number): Frame {
  const longest = Math.max(...rows.map((row) => withoutScopes(row.name, scopes).length), 4) * LETTER + 12;
  const left = Math.round(Math.min(longest, Math.max(width * 0.42, 90)));
  return { scopes, left, wide: Math.min((width - left - 1) / Math.max(steps.length, 1), WIDEST), high: rows.length > 60 ? 12 : 17 };
}

export function drawLayers(context: Context, layers: Layers, cells: Float32Array, bad: Float32Array | null, scale: Scale, at: Frame, ends: Ends, palette: Palette, cursor: Cell | null): void {
  const columns = layers.steps.length;
  context.clearRect(0, 0, at.left + at.wide * columns + 2, at.high * layers.rows.length + AXIS);
  for (let one = 0; one < columns * layers.rows.length; one++) {
    const [x, y] = [at.left + (one % columns) * at.wide, Math.floor(one / columns) * at.high];
    const ill = (bad?.[one] ?? 0) > 0;
    if (Number.isNaN(cells[one]!) && !ill) continue;
    context.fillStyle = ill ? palette.nan : css(colour(position(cells[one]!, scale), ends));
    context.fillRect(x, y, at.wide - (at.wide > 6 ? 1 : 0) + 0.3, at.high - 1);
    if (ill && at.wide > 6) cross(context, x + at.wide / 2, y + at.high / 2, palette);
  }
  names(context, layers, at, palette, cursor);
  axis(context, layers, at, palette, cursor);
  if (cursor) outline(context, at, cursor, palette);
}

function names(context: Context, { rows }: Layers, at: Frame, palette: Palette, cursor: Cell | null): void {
  context.font = `${at.high > 14 ? 11 : 10}px ${palette.sans}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  rows.forEach(({ name }, row) => {
    context.fillStyle = row === cursor?.row ? palette.text : palette["text-2"];
    context.fillText(abbreviated(withoutScopes(name, at.scopes), Math.floor((at.left - 8) / LETTER)), at.left - 6, (row + 0.5) * at.high);
  });
}

/** Steps below the columns, as many as there is room for. */
function axis(context: Context, { rows, steps }: Layers, at: Frame, palette: Palette, cursor: Cell | null): void {
  const y = rows.length * at.high + AXIS / 2 + 1;
  context.textAlign = "center";
  context.font = `10px ${palette.sans}`;
  for (const column of labelled(steps, at.wide, cursor?.column ?? null)) {
    context.fillStyle = column === cursor?.column ? palette.text : palette["text-3"];
    context.fillText(short(steps[column]!), at.left + (column + 0.5) * at.wide, y);
  }
}

/** The columns with a written step: those that do not overlap, with priority for the one under the pointer, then the ends. */
export function labelled(steps: number[], wide: number, cursor: number | null): number[] {
  const half = (column: number): number => short(steps[column]!).length * 2.8 + 1.5;
  const clear = (one: number, other: number): boolean => Math.abs(one - other) * wide >= half(one) + half(other);
  const found: number[] = [];
  for (const column of [cursor ?? 0, 0, steps.length - 1, ...steps.keys()]) {
    if (column < steps.length && found.every((other) => clear(column, other))) found.push(column);
  }
  return found;
}

function cross(context: Context, x: number, y: number, palette: Palette): void {
  context.strokeStyle = palette.surface;
  context.lineWidth = 1.2;
  context.beginPath();
  context.moveTo(x - 3, y - 3);
  context.lineTo(x + 3, y + 3);
  context.moveTo(x + 3, y - 3);
  context.lineTo(x - 3, y + 3);
  context.stroke();
}

function outline(context: Context, at: Frame, { row, column }: Cell, palette: Palette): void {
  const box = [at.left + column * at.wide, row * at.high, Math.max(at.wide, 3), at.high - 1] as const;
  context.lineWidth = 3;
  context.strokeStyle = palette.surface;
  context.strokeRect(...box);
  context.lineWidth = 1.5;
  context.strokeStyle = palette.accent;
  context.strokeRect(...box);
}
