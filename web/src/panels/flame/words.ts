/** The flame chart in words. */
import type { Flame, FlameBar } from "../../api/types";
import { count, many, seconds } from "../../widgets/format";

export const percent = (share: number): string => (share > 0 && share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`);

/** Describes a bar, for its tooltip and for rows of the table. */
export function told(bar: FlameBar, whole: number): string[] {
  const what = { call: "call of a function", eager: "eager op", input: "waits for the next batch", function: "function", layer: "layer", op: "" }[bar.kind];
  const time = `${seconds(bar.to - bar.from)}, ${percent((bar.to - bar.from) / whole)} of the step`;
  return [[bar.name, what].filter(Boolean).join(" · "), time, [bar.layer, bar.place].filter(Boolean).join(" · "), bar.op ?? ""].filter(Boolean);
}

export function summary(flame: Flame): string {
  const whole = flame.to - flame.from;
  const split = [...flame.split].sort((a, b) => b.share - a.share).filter((part) => part.share >= 0.01).slice(0, 3);
  const parts = split.map((part) => `${percent(part.share)} ${part.words}`).join(", ");
  return `Flame chart of step ${count(flame.step ?? 0)}, ${seconds(whole)}: ${many(flame.lanes.length, "thread")}, ${many(flame.bars.length, "bar")}. ${parts}.`;
}

export interface Sum {
  name: string;
  seconds: number;
  runs: number;
  place: string | null; // of the longest
  tensor: string | null;
}

/** Groups ops with equal name and line, the most time first. */
export function sums(bars: readonly FlameBar[]): Sum[] {
  const all = new Map<string, Sum & { longest: number }>();
  for (const bar of bars) {
    if (bar.kind !== "op" && bar.kind !== "eager" && bar.kind !== "input") continue;
    const key = `${bar.name}\n${bar.place}`;
    const time = bar.to - bar.from;
    const sum = all.get(key) ?? { name: bar.name, seconds: 0, runs: 0, place: bar.place, tensor: null, longest: -1 };
    const longest = time > sum.longest;
    all.set(key, { ...sum, seconds: sum.seconds + time, runs: sum.runs + 1, tensor: longest ? bar.tensor : sum.tensor, longest: Math.max(time, sum.longest) });
  }
  return [...all.values()].map(({ longest: _, ...sum }) => sum).sort((a, b) => b.seconds - a.seconds);
}
