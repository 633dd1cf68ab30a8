/** Finds what is under the pointer. */
import type { Points, TensorId, Timeline } from "../../api/types";
import { count, many, value } from "../../widgets/format";
import { binAt, nearestBin } from "./bins";
import { AXIS, type Geometry, STEPS } from "./geometry";
import { type Row, rowAt } from "./rows";
import { pointAt } from "./scalarline";
import type { Band } from "./steps";
import { duration, toTime, type View } from "./view";

export interface Hit {
  words: string[]; // a line each
  bad: boolean;
  tensor: TensorId | null; // what a click focuses
}

export interface Scene {
  geometry: Geometry;
  view: View;
  timeline: Timeline;
  rows: Row[];
  bands: Band[];
  points: Points | null;
  label: string; // the scalar's
}

const REACH = 6; // pixels

export function hit(scene: Scene, x: number, y: number): Hit | null {
  const { geometry, view } = scene;
  if (x < 0 || x > geometry.width || y < 0) return null;
  const time = toTime(view, geometry.width, x);
  const when = [duration(time, (view.to - view.from) / geometry.width), stepWords(scene, x)].filter(Boolean).join(" · ");
  const found = y >= geometry.lanes.top ? inLane(scene, time, y) : y >= AXIS + STEPS ? onScalar(scene, time) : inStep(scene, x);
  return found ? { ...found, words: [when, ...found.words] } : { words: [when], bad: false, tensor: null };
}

function stepWords({ bands }: Scene, x: number): string {
  const band = bands.find(({ left, right }) => x >= left && x <= Math.max(right, left + 1));
  if (!band) return "";
  const steps = band.first === band.last ? `step ${count(band.first)}` : `steps ${count(band.first)}–${count(band.last)}`;
  return band.epoch === null ? steps : `${steps}, epoch ${band.epoch}`;
}

function inLane({ geometry, view, timeline, rows }: Scene, time: number, y: number): Hit | null {
  const row = rowAt(rows, y - geometry.lanes.top + geometry.scroll);
  if (!row) return null;
  const length = row.lane.count.length;
  const wide = ((timeline.to - timeline.from) / length) * (geometry.width / (view.to - view.from));
  const bin = nearestBin(row.lane, binAt(timeline, length, time), Math.ceil(REACH / wide));
  if (bin < 0) return { words: [row.name], bad: false, tensor: null };
  const [all, bad] = [row.lane.count[bin]!, row.lane.bad[bin]!];
  const words = bad ? `${many(all, "tensor")}, ${count(bad)} bad` : many(all, "tensor");
  return { words: [row.name, words], bad: bad > 0, tensor: row.lane.first[bin] ?? null };
}

function onScalar({ geometry, view, points, label }: Scene, time: number): Hit | null {
  if (!points) return null;
  const at = pointAt(points, time, ((view.to - view.from) / geometry.width) * 40);
  if (at < 0) return null;
  const now = points.value[at] ?? null;
  return { words: [`${label} ${now === null ? "is not finite" : value(now)}`], bad: now === null, tensor: points.ids[at] ?? null };
}

/** On the ruler: the first tensor of the step, from any lane; a bad one if there is one. */
function inStep({ bands, rows, timeline, geometry, view }: Scene, x: number): Hit | null {
  const band = bands.find(({ left, right }) => x >= left && x <= Math.max(right, left + 1));
  if (!band) return null;
  const of = (pixel: number): number => binAt(timeline, rows[0]?.lane.count.length ?? 1, toTime(view, geometry.width, pixel));
  const [from, to] = [Math.max(of(band.left), 0), Math.max(of(Math.min(band.right, geometry.width)), 0)];
  const lane = rows.map((row) => row.lane).find(({ bad }) => bad.slice(from, to + 1).some(Boolean)) ?? rows[0]?.lane;
  const bin = lane ? firstIn(lane.bad, from, to) ?? firstIn(lane.count, from, to) : undefined;
  const words = [band.name, band.bad ? "has bad tensors" : ""].filter(Boolean);
  return { words, bad: band.bad, tensor: bin === undefined ? null : (lane!.first[bin] ?? null) };
}

function firstIn(of: readonly number[], from: number, to: number): number | undefined {
  for (let at = from; at <= to; at++) if (of[at]) return at;
  return undefined;
}
