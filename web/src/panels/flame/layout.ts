/** Positions the bars of a flame chart: lanes below each other, nested bars downwards. */
import type { Flame, FlameBar } from "../../api/types";
import { toX, type View } from "../timeline/view";

export const AXIS = 20;
export const ROW = 17;
export const GAP = 8; // between lanes

export interface Box {
  bar: FlameBar;
  left: number;
  top: number;
  width: number; // at least a pixel, so that every bar is visible
}

type Lanes = Flame["lanes"];

/** The top of each lane, and the total height. */
export function tops(lanes: Lanes): number[] {
  const all = [AXIS + 2];
  for (const lane of lanes) all.push(all.at(-1)! + lane.depth * ROW + GAP);
  return all;
}

/** The bars that are on screen. */
export function boxes(flame: Pick<Flame, "lanes" | "bars">, view: View, width: number): Box[] {
  const top = tops(flame.lanes);
  const all: Box[] = [];
  for (const bar of flame.bars) {
    if (bar.to < view.from || bar.from > view.to) continue;
    const left = toX(view, width, bar.from);
    all.push({ bar, left, top: top[bar.lane]! + bar.depth * ROW, width: Math.max(toX(view, width, bar.to) - left, 1) });
  }
  return all;
}

/** The bar at a point; among bars less than a few pixels wide the nearest. */
export function barAt(all: readonly Box[], x: number, y: number): FlameBar | null {
  let best: FlameBar | null = null;
  let away = 3;
  for (const box of all) {
    if (y < box.top || y >= box.top + ROW) continue;
    const far = x < box.left ? box.left - x : Math.max(x - box.left - box.width, 0);
    if (far < away) [best, away] = [box.bar, far];
  }
  return best;
}
