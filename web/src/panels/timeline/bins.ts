/** Converts the server's bins to columns of pixels, for any view: available bins are stretched or merged until finer ones arrive. */
import type { TensorId, Timeline } from "../../api/types";
import type { View } from "./view";

export type Lane = Timeline["lanes"][number];

export interface Columns {
  count: Float64Array; // events per column; bins that cover several columns are spread over them
  bad: Uint8Array; // whether any of them is bad
  most: number;
}

/** One entry for each column of `width`; `bins` covers `of`, the screen shows `view`. */
export function columns(lane: Pick<Lane, "count" | "bad">, of: View, view: View, width: number): Columns {
  const all: Columns = { count: new Float64Array(width), bad: new Uint8Array(width), most: 0 };
  const bins = lane.count.length;
  const seconds = (of.to - of.from) / bins;
  const pixels = width / (view.to - view.from);
  const first = Math.max(Math.floor((view.from - of.from) / seconds), 0);
  const last = Math.min(Math.ceil((view.to - of.from) / seconds), bins);
  for (let bin = first; bin < last; bin++) {
    if (lane.count[bin]) spread(all, lane.count[bin]!, lane.bad[bin]! > 0, (of.from + bin * seconds - view.from) * pixels, seconds * pixels);
  }
  for (const count of all.count) if (count > all.most) all.most = count;
  return all;
}

function spread(all: Columns, count: number, bad: boolean, from: number, wide: number): void {
  const width = all.count.length;
  const begin = Math.max(Math.floor(from + 1e-6), 0);
  const end = Math.min(Math.max(Math.ceil(from + wide - 1e-6), begin + 1), width);
  for (let x = begin; x < end; x++) {
    const share = wide <= 1 ? 1 / (end - begin) : Math.max(Math.min(x + 1, from + wide) - Math.max(x, from), 0) / wide;
    all.count[x]! += count * share;
    if (bad) all.bad[x] = 1;
  }
}

/** Merges the bins of several lanes, for a closed group. */
export function merged(lanes: readonly Lane[], id: string, name: string): Lane {
  const one = lanes[0]!;
  const sum = (pick: (lane: Lane) => number[]): number[] => pick(one).map((_, bin) => lanes.reduce((total, lane) => total + pick(lane)[bin]!, 0));
  const first = one.first.map((_, bin) => firstOf(lanes, bin));
  return { id, name, kind: one.kind, count: sum((lane) => lane.count), bad: sum((lane) => lane.bad), first };
}

function firstOf(lanes: readonly Lane[], bin: number): TensorId | null {
  const bad = lanes.find((lane) => lane.bad[bin]! > 0);
  return (bad ?? lanes.find((lane) => lane.count[bin]! > 0))?.first[bin] ?? null;
}

/** The bin at a time; -1 outside. */
export function binAt(of: View, bins: number, time: number): number {
  const bin = Math.floor(((time - of.from) / (of.to - of.from)) * bins);
  return bin >= 0 && bin < bins ? bin : time === of.to ? bins - 1 : -1;
}

/** The non-empty bin nearest to `bin`, at most `reach` away, a bad one preferred, for a pointer that is slightly off. */
export function nearestBin(lane: Pick<Lane, "count" | "bad">, bin: number, reach: number): number {
  let found = -1;
  for (let away = 0; away <= reach; away++) {
    for (const at of [bin - away, bin + away]) {
      if (lane.bad[at]) return at;
      if (found < 0 && lane.count[at]) found = at;
    }
  }
  return found;
}
