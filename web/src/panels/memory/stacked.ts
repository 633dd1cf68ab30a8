/** The columns of the chart: kinds of tensors stacked, below resident memory. */
import type { Memory } from "../../api/memory";

type Column = (number | null)[];

/** The top of each kind: its size plus the kinds below it. */
export function tops(kinds: Memory["kinds"]): Column[] {
  let below: Column | null = null;
  return kinds.map(({ bytes }) => {
    const before: Column | null = below;
    const column: Column = bytes.map((size, at) => (size === null ? null : size + (before?.[at] ?? 0)));
    below = column;
    return column;
  });
}

/** The kinds that ever take memory; the others are not in the legend. */
export function present(kinds: Memory["kinds"]): string[] {
  return kinds.filter(({ bytes }) => bytes.some((size) => size)).map(({ kind }) => kind);
}

/** The point nearest to a time. */
export function pointAt(seconds: readonly number[], time: number): number {
  let best = 0;
  for (let at = 1; at < seconds.length; at++) if (Math.abs(seconds[at]! - time) < Math.abs(seconds[best]! - time)) best = at;
  return best;
}

/** The start of the axis: the lowest resident memory, so that growth and tensors are visible; 0 if tensors take more than the growth. */
export function floor(memory: Pick<Memory, "resident" | "kinds">): number {
  const least = memory.resident.reduce((one, other) => Math.min(one, other), Infinity);
  const most = tops(memory.kinds).at(-1) ?? [];
  return most.some((size, at) => (size ?? 0) > 1.05 * (memory.resident[at]! - least) && (size ?? 0) > 0.05 * least) ? 0 : least;
}

/** The top of the axis. A limit far above the curve is written, not drawn, because the curve would be flat. */
export function ceiling(memory: Memory): number {
  const low = floor(memory);
  const high = limitInSight(memory) ? Math.max(memory.limit!, memory.peak) : memory.peak;
  return Math.max(high + 0.12 * (high - low), low + 1e6);
}

export const limitInSight = (memory: Memory): boolean => memory.limit !== null && memory.limit - floor(memory) < 2.5 * (memory.peak - floor(memory));
