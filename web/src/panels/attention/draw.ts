/** Draws attention weights: one pixel for each cell, enlarged, with the names of rows and columns. */
import type { Weights } from "../../api/inside";
import type { Palette } from "../../widgets/palette";
import { shorten } from "../../widgets/shorten";
import { colour, type Ends } from "../tensor/colour";
import { label } from "./words";

type Context = CanvasRenderingContext2D;

export interface Frame {
  left: number;
  top: number;
  cell: number; // pixels a side
}

const LARGEST = 26;
const ENLARGED = 40; // if there is room
const TALLEST = 460;
const LETTERS = 12;
const LETTER = 6.2; // pixels
const LINE = 13;

/** Positions the cells in the available room: square, with space for the names of rows and columns. */
export function frame(weights: Weights, width: number): Frame {
  const [left, top] = [margin(weights.query?.words ?? null, 34), margin(weights.key?.words ?? null, 20)];
  const cell = Math.min((width - left - 2) / Math.max(weights.columns, 1), TALLEST / Math.max(weights.rows, 1), width > 560 ? ENLARGED : LARGEST);
  return { left, top, cell: Math.max(cell, 0.5) };
}

function margin(words: string[] | null, without: number): number {
  if (words === null) return without;
  const longest = Math.min(Math.max(...words.map((word) => word.length), 1), LETTERS);
  return Math.max(Math.ceil(longest * LETTER) + 8, without);
}

/** Most weights are small, so colours follow the square root. */
export const shade = (weight: number, largest: number): number => (largest > 0 ? Math.sqrt(Math.max(weight, 0) / largest) : 0);

/** One pixel for each cell. Non-finite values have the colour of bad values. */
export function pixels(cells: ArrayLike<number>, largest: number, ends: Ends, bad: readonly [number, number, number]): Uint8ClampedArray<ArrayBuffer> {
  const found = new Uint8ClampedArray(cells.length * 4);
  for (let at = 0; at < cells.length; at++) {
    const weight = cells[at]!;
    found.set(Number.isFinite(weight) ? colour(shade(weight, largest), ends) : bad, at * 4);
    found[at * 4 + 3] = 255;
  }
  return found;
}

/** The cells as a picture that can be drawn at any size. */
export function picture(rows: number, columns: number, data: Uint8ClampedArray<ArrayBuffer>): HTMLCanvasElement | null {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = rows && columns ? canvas.getContext("2d") : null;
  context?.putImageData(new ImageData(data, columns, rows), 0, 0);
  return context ? canvas : null;
}

export function drawWeights(context: Context, weights: Weights, image: HTMLCanvasElement | null, at: Frame, palette: Palette, cursor: { row: number; column: number } | null): void {
  const [wide, high] = [at.cell * weights.columns, at.cell * weights.rows];
  context.clearRect(0, 0, at.left + wide + 40, at.top + high + 40);
  context.imageSmoothingEnabled = false;
  if (image) context.drawImage(image, at.left, at.top, wide, high);
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.strokeRect(at.left - 0.5, at.top - 0.5, wide + 1, high + 1);
  names(context, weights, at, palette, cursor);
  if (cursor) outline(context, at.left + cursor.column * at.cell, at.top + cursor.row * at.cell, at.cell, palette);
}

/** As many names as fit; always the one under the pointer. */
function names(context: Context, weights: Weights, at: Frame, palette: Palette, cursor: { row: number; column: number } | null): void {
  context.font = `10px ${weights.query?.words || weights.key?.words ? palette.mono : palette.sans}`;
  context.textBaseline = "middle";
  const upright = !!weights.key?.words;
  for (const row of shown(weights.rows, at.cell, cursor?.row ?? null, LINE)) {
    context.fillStyle = row === cursor?.row ? palette.text : palette["text-3"];
    context.textAlign = "right";
    context.fillText(shorten(label(weights.query, row, weights.rowBlock), LETTERS), at.left - 5, at.top + (row + 0.5) * at.cell);
  }
  for (const column of shown(weights.columns, at.cell, cursor?.column ?? null, upright ? LINE : String(weights.keys).length * LETTER + 8)) {
    context.fillStyle = column === cursor?.column ? palette.text : palette["text-3"];
    above(context, shorten(label(weights.key, column, weights.columnBlock), LETTERS), at.left + (column + 0.5) * at.cell, at.top - 5, upright);
  }
}

/** Tokens stand vertically above their column. */
function above(context: Context, text: string, x: number, y: number, upright: boolean): void {
  context.save();
  context.translate(x, y);
  if (upright) context.rotate(-Math.PI / 2);
  context.textAlign = upright ? "left" : "center";
  context.fillText(text, 0, upright ? 0 : -3);
  context.restore();
}

/** Which names to draw: those at least that many pixels apart; near the pointer, only the one under it. */
export function shown(length: number, cell: number, cursor: number | null, apart: number): number[] {
  const every = Math.max(Math.ceil(apart / cell), 1);
  const all = Array.from({ length: Math.ceil(length / every) }, (_, at) => at * every);
  if (cursor === null || every === 1) return all;
  return [...all.filter((at) => Math.abs(at - cursor) >= every * 1.5), cursor];
}

function outline(context: Context, x: number, y: number, cell: number, palette: Palette): void {
  const size = Math.max(cell, 4);
  context.lineWidth = 3;
  context.strokeStyle = palette.surface;
  context.strokeRect(x, y, size, size);
  context.lineWidth = 1.5;
  context.strokeStyle = palette.accent;
  context.strokeRect(x, y, size, size);
}
