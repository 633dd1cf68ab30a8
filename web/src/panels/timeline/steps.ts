/** Steps as bands on the ruler: one each if they are few enough to distinguish, else stretches of many. */
import type { Timeline } from "../../api/types";
import { toX, type View } from "./view";

export interface Band {
  left: number;
  right: number;
  first: number;
  last: number;
  bad: boolean;
  epoch: number | null;
  name: string;
}

/** The visible steps, in pixels, in the order of time. */
export function bands(timeline: Pick<Timeline, "from" | "to" | "steps" | "stepBins">, view: View, width: number): Band[] {
  const all = timeline.stepBins ? fromBins(timeline, view, width) : fromSteps(timeline, view, width);
  return all.filter((band) => band.right >= 0 && band.left <= width);
}

function fromSteps(timeline: Pick<Timeline, "steps">, view: View, width: number): Band[] {
  return timeline.steps.map(({ step, epoch, from, to, bad, name }) => ({
    left: toX(view, width, from), right: toX(view, width, to), first: step, last: step, bad, epoch, name,
  }));
}

function fromBins(timeline: Pick<Timeline, "from" | "to" | "stepBins">, view: View, width: number): Band[] {
  const { first, last, bad } = timeline.stepBins!;
  const seconds = (timeline.to - timeline.from) / first.length;
  return first.flatMap((step, bin) => {
    if (step === null) return [];
    const from = timeline.from + bin * seconds;
    return [{ left: toX(view, width, from), right: toX(view, width, from + seconds), first: step, last: last[bin] ?? step, bad: bad[bin] ?? false, epoch: null, name: "" }];
  });
}

/** The begin of the second step, if the first takes more than half of the run and others follow; null if the first is useful, or bad. */
export function afterFirst({ from, to, begin, end, steps }: Pick<Timeline, "from" | "to" | "begin" | "end" | "steps">): number | null {
  const [first, second] = steps;
  if (from > begin || to < end || steps.length < 4 || first!.bad) return null;
  return second!.from - begin > (end - begin) / 2 ? second!.from : null;
}

/** Which bands get which number without overlap: round numbers, at least `room` pixels apart. */
export function numbered(all: readonly Band[], room: number): { x: number; step: number }[] {
  if (all.length === 0) return [];
  const [one, other] = [all[0]!, all[all.length - 1]!];
  const every = nice(Math.ceil((room * (other.last - one.first)) / Math.max(other.right - one.left, 1)));
  let free = -Infinity;
  return all.flatMap(({ left, first, last }) => {
    const step = Math.ceil(first / every) * every;
    if (step > last || left < free) return [];
    free = left + room;
    return [{ x: left, step }];
  });
}

function nice(least: number): number {
  if (!Number.isFinite(least) || least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((many) => many * power >= least) ?? 10) * power;
}

/** The begin of a new epoch: a line across all lanes. */
export function epochs(all: readonly Band[]): { x: number; epoch: number }[] {
  let before: number | null = null;
  return all.flatMap((band) => {
    const begins = band.epoch !== null && band.epoch !== before;
    before = band.epoch ?? before;
    return begins ? [{ x: band.left, epoch: band.epoch! }] : [];
  });
}
