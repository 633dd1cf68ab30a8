/** Converts a tensor's history to the columns of its chart. */
import type { History } from "../../api/types";
import { count, value } from "../../widgets/format";

export interface Series {
  x: number[]; // the number of the point, since steps may repeat or be unknown
  min: (number | null)[];
  mean: (number | null)[];
  max: (number | null)[];
  bad: number[]; // indices of points with a NaN or an infinity
}

export function series(history: History): Series {
  return {
    x: history.ids.map((_, at) => at),
    min: history.min,
    mean: history.mean,
    max: history.max,
    bad: history.ids.flatMap((_, at) => (isBad(history, at) ? [at] : [])),
  };
}

const isBad = (history: History, at: number): boolean => history.nan[at]! > 0 || history.inf[at]! > 0;

/** The label of a point: its step, or its index if the step is unknown. */
export function stepAt(history: History, at: number): string {
  const step = history.steps[Math.round(at)];
  return step === null || step === undefined ? "" : String(step);
}

/** Labels below some of the points: a repeated step, as in a loop, is written once. */
export function stepLabels(history: History, at: readonly number[]): string[] {
  return at.map((point, index) => {
    const step = stepAt(history, point);
    if (index === 0) return step && `step ${step}`;
    return step === stepAt(history, at[index - 1]!) ? "" : step;
  });
}

/** Round numbers along a logarithmic axis. */
export function bentSplits(low: number, high: number): number[] {
  const root = (end: number): number => Math.sign(end) * 10 ** Math.round(Math.log10(Math.max(Math.abs(end), 1)) / 2);
  const all = [low, root(low), 0, root(high), high].filter((at) => at >= low && at <= high);
  return [...new Set(all)].sort((one, other) => one - other);
}

/** Whether values span so many powers of ten that only a logarithmic scale shows all of them. */
export function spansPowers(history: Pick<History, "min" | "max">): boolean {
  const sizes = [...history.min, ...history.max].filter((size): size is number => size !== null && size !== 0).map(Math.abs);
  if (sizes.length === 0) return false;
  const most = sizes.reduce((one, other) => Math.max(one, other));
  const middle = sizes.sort((one, other) => one - other)[sizes.length >> 1]!;
  return most / middle > 1e3;
}

/** The point of this tensor, else -1. Points aggregate several moments, so the same step is near enough. */
export function pointOf(history: History, id: string, step: number | null): number {
  const exact = history.ids.indexOf(id);
  if (exact >= 0 || step === null) return exact;
  return history.steps.findIndex((last) => last !== null && last >= step);
}

/** A point's health in words, for the tooltip and for readers who do not see the chart. */
export function pointWords(history: History, at: number): string {
  const when = stepAt(history, at) === "" ? `point ${at + 1}` : `step ${stepAt(history, at)}`;
  const parts = [counted(history.nan[at]!, "NaN"), counted(history.inf[at]!, "∞")].filter(Boolean);
  const finite = history.min[at] === null ? [] : [`${value(history.min[at]!)} … ${value(history.max[at]!)}`];
  const mean = history.mean[at] === null || history.mean[at] === undefined ? [] : [`mean ${value(history.mean[at]!)}`];
  return [when, ...parts, ...finite, ...mean].join(" · ");
}

const counted = (many: number, what: string): string => (many > 0 ? `${count(many)} ${what}` : "");
