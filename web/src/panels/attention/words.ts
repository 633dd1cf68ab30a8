/** Attention in words. */
import type { AttentionItem, Axis, HeadLines, Weights } from "../../api/inside";
import { count, many, value } from "../../widgets/format";
import { withoutScopes } from "../../widgets/names";

/** "block_0/attention · 4 heads · 10×10", without the scopes that all begin with. */
export function title(item: AttentionItem, scopes: string): string {
  return `${withoutScopes(item.name, scopes)} · ${many(item.heads, "head")} · ${item.queries}×${item.keys}`;
}

/** The name of a row or column: the token, else its position; for a block its first. */
export function label(axis: Axis | null, at: number, block: number): string {
  return (block === 1 && axis?.words?.[at]) || String(at * block);
}

/** The same in a sentence: 'query 3 "cat"', "key 1 (id 17)", "queries 8…11". */
function named(what: "query" | "key", axis: Axis | null, at: number, block: number, length: number): string {
  if (block > 1) return `${what === "query" ? "queries" : "keys"} ${at * block}…${Math.min((at + 1) * block, length) - 1}`;
  const token = axis?.words ? ` “${axis.words[at]}”` : axis ? ` (id ${axis.ids[at]})` : "";
  return `${what} ${at}${token}`;
}

export function cellWords(weights: Weights, cells: Float32Array, row: number, column: number): string {
  const query = named("query", weights.query, row, weights.rowBlock, weights.queries);
  const key = named("key", weights.key, column, weights.columnBlock, weights.keys);
  const weight = cells[row * weights.columns + column] ?? NaN;
  return `${query} → ${key}: ${Number.isFinite(weight) ? value(weight) : "not finite"}`;
}

/** Says so where cells are blocks. */
export function blocks({ rowBlock, columnBlock, queries, keys }: Weights): string | null {
  if (rowBlock === 1 && columnBlock === 1) return null;
  const parts = [rowBlock > 1 && `the mean of ${rowBlock} queries`, columnBlock > 1 && `the sum of ${columnBlock} keys`];
  return `Made smaller: of ${count(queries)} × ${count(keys)}, each cell is ${parts.filter(Boolean).join(" and ")}.`;
}

export function summary(weights: Weights): string {
  const { head, step, sample, queries, keys } = weights;
  return `Attention weights of head ${head}, sample ${sample}, step ${count(step)}: ${count(queries)} queries by ${count(keys)} keys.`;
}

/** The statistics of the head at this sample, over the whole batch, without those that are normal. */
export function facts({ numbers }: Weights): string {
  const { entropy, distance, sink, collapse, ahead, off_sum, nan_rows, zero_rows } = numbers;
  const parts = [
    entropy !== null && `entropy ${value(entropy)}`,
    distance !== null && `distance ${value(distance)}`,
    sink !== null && `first key ${percent(sink)}`,
    collapse !== null && `most on one key ${percent(collapse)}`,
    ahead !== null && `ahead of the query ${percent(ahead)}`,
    (off_sum ?? 0) > 1e-3 && `a row is ${value(off_sum)} away from 1`,
    (nan_rows ?? 0) > 0 && `${many(nan_rows!, "row")} not finite`,
    (zero_rows ?? 0) > 0 && `${many(zero_rows!, "row")} of zeros`,
  ];
  return parts.filter(Boolean).join(" · ");
}

const percent = (share: number): string => `${value(Math.round(share * 1000) / 10)} %`;

/** The charted statistics, and their meaning. */
export const CHARTS: { name: keyof HeadLines["columns"]; title: string; what: string }[] = [
  { name: "entropy", title: "Entropy", what: "1: all keys get the same; 0: one gets all" },
  { name: "distance", title: "Distance", what: "how many positions away a query looks, on average" },
  { name: "sink", title: "Sink", what: "the share of the weight on the first key" },
];
