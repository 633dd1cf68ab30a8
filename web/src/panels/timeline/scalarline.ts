/** A scalar over time: its visible values, and their heights. */
import type { Points } from "../../api/types";
import type { View } from "./view";

export interface Heights {
  low: number;
  high: number;
  bent: boolean; // logarithmic, because values explode
}

const bend = (value: number): number => Math.asinh(value * 1e3);

/** The range of the visible values; null if none is finite. */
export function heights(points: Points, view: View): Heights | null {
  let [low, high] = [Infinity, -Infinity];
  const sizes: number[] = [];
  for (let at = 0; at < points.time.length; at++) {
    const [least, most] = [points.low[at], points.high[at]];
    if (least == null || most == null || points.time[at]! < view.from || points.time[at]! > view.to) continue;
    low = Math.min(low, least);
    high = Math.max(high, most);
    sizes.push(Math.max(Math.abs(least), Math.abs(most)));
  }
  if (low > high) return null;
  return { low, high, bent: explodes(sizes) };
}

function explodes(sizes: number[]): boolean {
  const sorted = sizes.sort((one, other) => one - other);
  const middle = sorted[sorted.length >> 1]!;
  return middle > 0 && sorted[sorted.length - 1]! / middle > 1e3;
}

/** 0 (low) … 1 (high). */
export function share(value: number, { low, high, bent }: Heights): number {
  const [from, to, at] = bent ? [bend(low), bend(high), bend(value)] : [low, high, value];
  return to > from ? (at - from) / (to - from) : 0.5;
}

/** The point nearest to a time, at most `reach` seconds away, else -1. */
export function pointAt(points: Points, time: number, reach: number): number {
  let [below, above] = [0, points.time.length];
  while (below < above) {
    const middle = (below + above) >> 1;
    if (points.time[middle]! < time) below = middle + 1;
    else above = middle;
  }
  const near = [below - 1, below].filter((at) => at >= 0 && at < points.time.length);
  const best = near.sort((one, other) => Math.abs(points.time[one]! - time) - Math.abs(points.time[other]! - time))[0];
  return best !== undefined && Math.abs(points.time[best]! - time) <= reach ? best : -1;
}
