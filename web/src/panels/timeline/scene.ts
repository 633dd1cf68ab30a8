/** Everything that is drawn: rows, steps in pixels, and the position of each part. */
import type { Points, Timeline } from "../../api/types";
import { geometry, LANE } from "./geometry";
import type { Scene } from "./hit";
import { rows, type Row } from "./rows";
import { bands } from "./steps";
import type { View } from "./view";

interface Known {
  timeline: Timeline;
  view: View;
  turned: ReadonlySet<string>;
  points: Points | null;
  plotted: boolean;
  label: string;
}

/** Lanes change with the bins and the open groups, not with each frame. */
let kept: { timeline: Timeline; turned: ReadonlySet<string>; rows: Row[] } | null = null;
export function rowsOf(timeline: Timeline, turned: ReadonlySet<string>): Row[] {
  if (kept?.timeline !== timeline || kept.turned !== turned) kept = { timeline, turned, rows: rows(timeline.lanes, turned, LANE) };
  return kept.rows;
}

export function sceneOf({ timeline, view, turned, points, plotted, label }: Known, width: number, height: number, scroll: number): Scene {
  const all = rowsOf(timeline, turned);
  return { geometry: geometry(width, height, all, plotted, scroll), view, timeline, rows: all, bands: bands(timeline, view, width), points, label };
}
