/** Cells of a picture, walked through by the arrow keys. */
export interface Cell {
  row: number;
  column: number;
}

const KEYS: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const clamp = (at: number, length: number): number => Math.max(Math.min(at, length - 1), 0);

/** The next cell for a key; without a current one, `first`. null: the key is not an arrow. */
export function walked(key: string, from: Cell | null, rows: number, columns: number, first: Cell = { row: 0, column: 0 }): Cell | null {
  const by = KEYS[key];
  if (!by) return null;
  return from === null ? first : { row: clamp(from.row + by[0], rows), column: clamp(from.column + by[1], columns) };
}
