/** The timeline in a sentence, for readers who do not see it. */
import type { Timeline } from "../../api/types";
import { count, many } from "../../widgets/format";
import { duration } from "./view";

const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

export function summary({ from, to, lanes, steps, stepBins }: Timeline): string {
  const all = lanes.reduce((sum, lane) => sum + total(lane.count), 0);
  const bad = lanes.reduce((sum, lane) => sum + total(lane.bad), 0);
  const first = stepBins ? stepBins.first[stepBins.bad.indexOf(true)] : steps.find((step) => step.bad)?.step;
  const where = first === undefined || first === null ? "" : `, first at step ${count(first)}`;
  const health = bad ? `${count(bad)} bad${where}` : "none bad";
  return `Timeline from ${duration(from)} to ${duration(to)}: ${many(lanes.length, "lane")}, ${many(stepCount({ steps, stepBins }), "step")}, ${many(all, "tensor")}, ${health}.`;
}

function stepCount({ steps, stepBins }: Pick<Timeline, "steps" | "stepBins">): number {
  if (!stepBins) return steps.length;
  const known = (of: (number | null)[]): number[] => of.filter((step): step is number => step !== null);
  const [first, last] = [known(stepBins.first)[0], known(stepBins.last).at(-1)];
  return first === undefined || last === undefined ? 0 : last - first + 1;
}
