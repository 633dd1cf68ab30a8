/** The columns of the chart: kinds of tensors on top of each other, below what is resident. */
import type { Memory } from "../../api/memory";

type Column = (number | null)[];

/** Of each kind, how high it reaches: it and those below it. */
export function tops(kinds: Memory["kinds"]): Column[] {
  let below: Column | null = null;
  return kinds.map(({ bytes }) => {
    const before: Column | null = below;
    const column: Column = bytes.map((size, at) => (size === null ? null : size + (before?.[at] ?? 0)));
    below = column;
    return column;
  });
}

/** The kinds that ever take memory: the others need no colour in the legend. */
export function present(kinds: Memory["kinds"]): string[] {
  return kinds.filter(({ bytes }) => bytes.some((size) => size)).map(({ kind }) => kind);
}

/** The point nearest to a time. */
export function pointAt(seconds: readonly number[], time: number): number {
  let best = 0;
  for (let at = 1; at < seconds.length; at++) if (Math.abs(seconds[at]! - time) < Math.abs(seconds[best]! - time)) best = at;
  return best;
}

/** Where the axis begins: at the least that was resident, so that growth and tensors are seen; at 0 where tensors are more than grew since. */
export function floor(memory: Pick<Memory, "resident" | "kinds">): number {
  const least = memory.resident.reduce((one, other) => Math.min(one, other), Infinity);
  const most = tops(memory.kinds).at(-1) ?? [];
  return most.some((size, at) => (size ?? 0) > 1.05 * (memory.resident[at]! - least) && (size ?? 0) > 0.05 * least) ? 0 : least;
}

/** The top of the axis. A limit far above all is said, not drawn: the curve would lie on the floor. */
export function ceiling(memory: Memory): number {
  const low = floor(memory);
  const high = limitInSight(memory) ? Math.max(memory.limit!, memory.peak) : memory.peak;
  return Math.max(high + 0.12 * (high - low), low + 1e6);
}

export const limitInSight = (memory: Memory): boolean => memory.limit !== null && memory.limit - floor(memory) < 2.5 * (memory.peak - floor(memory));
