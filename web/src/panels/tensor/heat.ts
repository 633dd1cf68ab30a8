/** The cells of a heat map: their size, and their meaning in words. */
import type { Value } from "../../api/types";
import { value as written } from "../../widgets/format";
import { brackets, indexOf, taken } from "./slice";

export type Heat = NonNullable<Value["heat"]>;

const LARGEST = 22;
const TALLEST = 300;

/** Pixels of a cell; it fills the width unless cells become too large. */
export function cellSize({ rows, columns }: Heat, width: number): { wide: number; high: number } {
  const wide = Math.min(width / columns, LARGEST);
  return { wide, high: Math.max(Math.min(TALLEST / rows, LARGEST, Math.max(wide * 2, 8)), 2) };
}

/** The rows or columns of the value that a row or column of cells covers. */
export function covers(cell: number, cells: number, size: number): [number, number] {
  return [Math.floor((cell * size) / cells), Math.floor(((cell + 1) * size) / cells) - 1];
}

const BAD: Record<string, string> = { n: "NaN", "+": "+∞", "-": "−∞" };
export const badWord = (mark: string | undefined): string | null => BAD[mark ?? "."] ?? null;

/** "[3, 0, 7] = 0.25"; for a block: "[0…3, 8…11] mean 0.25". */
export function cellWords(value: Value, heat: Heat, row: number, column: number): string {
  const [rows, columns] = [value.shape[0] ?? 1, value.shape[1] ?? 1];
  const [top, bottom] = covers(row, heat.rows, rows);
  const [left, right] = covers(column, heat.columns, columns);
  const of = taken(value.slice, value.of);
  const index = (r: number, c: number): number[] => (of ? indexOf(r * columns + c, of) : [r, c]);
  const cell = heat.cells[row * heat.columns + column] ?? null;
  const bad = badWord(heat.bad[row * heat.columns + column]);
  if (top === bottom && left === right) return `${brackets(index(top, left))} = ${bad ?? written(cell)}`;
  const ends = index(top, left).map((first, at) => span(first, index(bottom, right)[at]!));
  return `[${ends.join(", ")}] ${[bad && `has ${bad}`, cell !== null && `mean ${written(cell)}`].filter(Boolean).join(", ")}`;
}

const span = (first: number, last: number): string => (first === last ? String(first) : `${first}…${last}`);

export function heatSummary(heat: Heat, shape: readonly number[]): string {
  const bad = [...heat.bad].filter((mark) => mark !== ".").length;
  const range = heat.low === null ? "nothing finite" : `from ${written(heat.low)} to ${written(heat.high)}`;
  return `Heat map of ${shape.join(" by ")} values, ${range}${bad ? `; ${bad} cells with NaN or infinity` : ""}.`;
}
