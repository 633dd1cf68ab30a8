/** Places the panels in the available room. */
import type { Panel } from "../panels/registry";

/** The part of the height that the strip takes, unless the reader moves its border. */
export const STRIP = 0.29;

export interface Column {
  id: string;
  /** From top to bottom; panels in one box are tabs. */
  boxes: Panel[][];
}

const THREE = 1160;
const TWO = 700;
const TALL = 520; // height of the columns: below it, two stacked boxes show too little of either
const ROOM = 430; // height of the grid: below it, a strip would leave the columns too low

/** The panels across the whole width, above the columns; without room for a strip, they are tabs of the middle column. */
export function strip(panels: Panel[], width: number, height: number): Panel[] {
  return width >= TWO && height >= ROOM ? panels.filter((panel) => panel.region === "strip") : [];
}

/** Columns for a grid of that size: three, two (middle and right share tabs), or one. */
export function arrange(panels: Panel[], width: number, height: number): Column[] {
  const above = strip(panels, width, height);
  const placed = panels.filter((panel) => panel.region !== "whole" && !above.includes(panel));
  if (width < TWO) return [column("all", placed, true)];
  const flat = height - (above.length ? height * STRIP : 0) < TALL;
  const left = column("left", placed.filter((panel) => panel.region === "left"), flat);
  const middle = placed.filter((panel) => panel.region === "middle" || panel.region === "strip");
  const right = placed.filter((panel) => panel.region === "right");
  const others = width < THREE ? [column("side", [...right, ...middle], flat)] : [column("middle", middle, flat), column("right", right, flat)];
  return [left, ...others].filter((one) => one.boxes.length > 0);
}

/** Compact panels stand alone on top; the others share two boxes, or one if two would be too low. */
function column(id: string, panels: Panel[], flat: boolean): Column {
  const compact = panels.filter((panel) => panel.compact).map((panel) => [panel]);
  const rest = panels.filter((panel) => !panel.compact);
  const rows = flat ? [rest] : [rest.filter((panel) => panel.row === 0), rest.filter((panel) => panel.row === 1)];
  return { id, boxes: [...compact, ...rows].filter((box) => box.length > 0) };
}
