/** Positions of the parts of the timeline on its canvas: the axis and steps on top, the scalar, then the lanes, which scroll. */
import type { Row } from "./rows";

export const AXIS = 20;
export const STEPS = 18;
export const LANE = 22;
const PLOT = { least: 40, most: 160 };

export interface Geometry {
  width: number;
  height: number;
  plot: { top: number; height: number }; // 0 high: no scalar
  lanes: { top: number; height: number };
  scroll: number;
}

export function geometry(width: number, height: number, rows: readonly Row[], plotted: boolean, scroll: number): Geometry {
  const below = AXIS + STEPS;
  const free = height - below - rows.length * LANE;
  const plot = plotted ? Math.min(Math.max(free, PLOT.least), PLOT.most) : 0;
  const top = below + plot;
  return { width, height, plot: { top: below, height: plot }, lanes: { top, height: Math.max(height - top, 0) }, scroll };
}

/** The total height, which the scrolled box must hold. */
export const fullHeight = (geometry: Geometry, rows: readonly Row[]): number => geometry.lanes.top + rows.length * LANE;
