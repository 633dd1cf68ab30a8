/** The elements that a slice like `[0, :, 3:9]` selects. The server parses and validates it; the page only maps a cell back to its index. */

export interface Taken {
  dropped: boolean; // an index, not a range: the dimension is gone in the result
  start: number;
  step: number;
  length: number;
}

/** One entry for each dimension of the tensor; null if the text is invalid or does not fit. */
export function taken(text: string, shape: readonly number[]): Taken[] | null {
  const parts = split(text);
  const dots = parts.indexOf("...");
  const missing = shape.length - parts.filter((part) => part !== "...").length;
  if (missing < 0 || parts.lastIndexOf("...") !== dots) return null;
  const rest = new Array<string>(missing).fill(":");
  const full = dots < 0 ? [...parts, ...rest] : [...parts.slice(0, dots), ...rest, ...parts.slice(dots + 1)];
  const all = full.map((part, at) => one(part, shape[at]!));
  return all.every((entry) => entry !== null) ? all : null;
}

function split(text: string): string[] {
  const inner = text.trim().replace(/^\[/, "").replace(/\]$/, "").trim();
  return inner === "" ? [] : inner.replace(/,\s*$/, "").split(",").map((part) => part.trim());
}

function one(part: string, size: number): Taken | null {
  if (/^-?\d+$/.test(part)) {
    const index = Number(part) < 0 ? Number(part) + size : Number(part);
    return index >= 0 && index < size ? { dropped: true, start: index, step: 1, length: 1 } : null;
  }
  if (!/^(-?\d+)?:(-?\d+)?(:(-?\d+)?)?$/.test(part)) return null;
  const [from, to, by] = part.split(":").map((text) => (text === "" || text === undefined ? null : Number(text)));
  return range(from ?? null, to ?? null, by ?? 1, size);
}

/** As Python's slice(from, to, by).indices(size). */
function range(from: number | null, to: number | null, by: number, size: number): Taken | null {
  if (by === 0) return null;
  const [low, high] = by > 0 ? [0, size] : [-1, size - 1];
  const at = (value: number | null, missing: number): number => (value === null ? missing : Math.min(Math.max(value < 0 ? value + size : value, low), high));
  const start = at(from, by > 0 ? low : high);
  const stop = at(to, by > 0 ? high : low);
  return { dropped: false, start, step: by, length: Math.max(Math.ceil((stop - start) / by), 0) };
}

/** The index in the whole tensor of a flat position in the slice: `[3, 0, 7]`. */
export function indexOf(flat: number, of: readonly Taken[]): number[] {
  const index = new Array<number>(of.length).fill(0);
  let left = flat;
  for (let at = of.length - 1; at >= 0; at--) {
    const { dropped, start, step, length } = of[at]!;
    index[at] = start + (dropped ? 0 : (left % length) * step);
    if (!dropped) left = Math.floor(left / length);
  }
  return index;
}

/** A flat index in the whole tensor, as one index a dimension. */
export function unravel(flat: number, shape: readonly number[]): number[] {
  return indexOf(flat, shape.map((length) => ({ dropped: false, start: 0, step: 1, length })));
}

export const brackets = (index: readonly number[]): string => `[${index.join(", ")}]`;

/** The initial 2-D slice: the first matrix of a tensor with more dimensions; "" if it has two or fewer. */
export function firstMatrix(shape: readonly number[]): string {
  return shape.length > 2 ? `[${[...shape.slice(2).map(() => "0"), ":", ":"].join(", ")}]` : "";
}

/** The 2-D slice that contains a flat index. */
export function matrixAt(flat: number, shape: readonly number[]): string {
  if (shape.length <= 2) return "";
  return `[${[...unravel(flat, shape).slice(0, -2), ":", ":"].join(", ")}]`;
}
