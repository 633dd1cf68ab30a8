/** Histograms over the steps, each a line behind the next: the points of the lines. */
import type { Ridge } from "../../api/types";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Line {
  step: number;
  base: number; // the height of its zero, from above
  points: [number, number][];
}

/** How far a peak may overlap the lines behind it, in line spacings. */
const OVERLAP = 3;

/** The smallest and the largest value of all. */
export function extent(ridges: readonly Ridge[]): [number, number] {
  const low = Math.min(...ridges.map((ridge) => ridge.min));
  const high = Math.max(...ridges.map((ridge) => ridge.max));
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

/** Counts per unit of value, so that bins of different widths are comparable; a constant is one full bin. */
export function densities(ridge: Ridge, widest: number): number[] {
  const width = (ridge.max - ridge.min) / ridge.bins.length || widest / ridge.bins.length;
  return ridge.bins.map((count) => count / width);
}

/** The lines, oldest first: the oldest is drawn first, at the top, and the others in front of it. */
export function lines(ridges: readonly Ridge[], box: Box): Line[] {
  if (ridges.length === 0) return [];
  const [low, high] = extent(ridges);
  const heights = ridges.map((ridge) => densities(ridge, high - low));
  const peak = Math.max(...heights.map((all) => Math.max(...all)), Number.MIN_VALUE);
  const gap = box.height / (ridges.length - 1 + OVERLAP);
  const x = (at: number): number => box.left + ((at - low) / (high - low)) * box.width;
  return ridges.map((ridge, number) => {
    const base = box.top + gap * (OVERLAP + number);
    const middle = (bin: number): number => ridge.min + ((bin + 0.5) / ridge.bins.length) * (ridge.max - ridge.min);
    const inner = heights[number]!.map((height, bin): [number, number] => [x(middle(bin)), base - (height / peak) * gap * OVERLAP]);
    return { step: ridge.step, base, points: [[x(ridge.min), base], ...inner, [x(ridge.max), base]] };
  });
}

/** The line whose zero is nearest to a height. */
export function nearest(all: readonly Line[], y: number): number {
  return all.reduce((best, line, at) => (Math.abs(line.base - y) < Math.abs((all[best]?.base ?? Infinity) - y) ? at : best), 0);
}
