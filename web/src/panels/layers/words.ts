/** The picture of the layers in words. */
import type { LayerKind, Layers, Measure } from "../../api/inside";
import { count, many, shape, value } from "../../widgets/format";

export const KINDS: Record<LayerKind, string> = { output: "outputs of layers", gradient: "gradients", update: "updates", variable: "weights" };
const THINGS: Record<LayerKind, string> = { output: "layer", gradient: "gradient", update: "update", variable: "weight" };
export const MEASURES: Record<Measure, string> = { norm: "norm", mean: "mean", std: "standard deviation", zeros: "share of zeros", dead: "dead units", saturated: "saturation", ratio: "update to weight" };

/** In the order of the menu. */
export const ORDER: Measure[] = ["ratio", "norm", "mean", "std", "zeros", "dead", "saturated"];

/** Those that are shares of something. */
export const SHARES: Measure[] = ["zeros", "dead", "saturated"];

/** Formats one number; shares in percent. */
export function number(measure: Measure, one: number): string {
  if (!Number.isFinite(one)) return "–";
  return SHARES.includes(measure) ? `${value(Math.round(one * 1000) / 10)} %` : value(one);
}

export interface Cells {
  measures: Partial<Record<Measure, Float32Array>>;
  bad: Float32Array | null;
}

/** "block_0/attention 8×10×16 · step 40 · norm 13.2 · mean 0.1": the measure that is drawn comes first. */
export function cellWords(layers: Layers, cells: Cells, drawn: Measure, row: number, column: number): string {
  const at = row * layers.steps.length + column;
  const there = [drawn, ...ORDER.filter((one) => one !== drawn)].filter((one) => cells.measures[one] !== undefined && !Number.isNaN(cells.measures[one]![at]!));
  const bad = cells.bad?.[at] ?? 0;
  const { name, shape: sizes } = layers.rows[row]!;
  const said = there.length || bad > 0 ? there.map((one) => `${MEASURES[one]} ${number(one, cells.measures[one]![at]!)}`) : ["no look"];
  return [`${name} ${shape(sizes)}`, `step ${count(layers.steps[column]!)}`, ...said, bad > 0 ? `${count(bad)} not finite` : ""].filter(Boolean).join(" · ");
}

export function summary(layers: Layers, drawn: Measure): string {
  const { rows, steps, kind } = layers;
  const over = steps.length > 1 ? `, from step ${count(steps[0]!)} to ${count(steps.at(-1)!)}` : "";
  return `Picture of ${many(rows.length, THINGS[kind])} by ${many(steps.length, "look")}${over}: ${MEASURES[drawn]}.`;
}

/** What was left out, in words; null: nothing. */
export function leftOut({ leftOut: rows, looks, steps }: Layers): string | null {
  const parts = [looks > steps.length && `${count(steps.length)} of ${count(looks)} samples are shown`, rows > 0 && `${count(rows)} more rows are left out`];
  return parts.filter(Boolean).join("; ") || null;
}
