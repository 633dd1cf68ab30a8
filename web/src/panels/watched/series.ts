/** Which charts show a series. */
import type { WatchedItem, WatchedSeries } from "../../api/types";

export interface ChartOf {
  title: string;
  columns: Record<string, (number | null)[]>;
}

/** A scalar has no other measure; a column without any known value is not drawn. */
export function charts(item: WatchedItem, series: WatchedSeries): ChartOf[] {
  if (series.scalar.some((one) => one !== null)) return [{ title: "Value", columns: { value: series.scalar } }];
  const found: ChartOf[] = [];
  if (item.what.includes("norm")) found.push({ title: "Norm", columns: { norm: series.norm } });
  if (item.kind === "variable" && series.ratio.some((one) => one !== null)) found.push({ title: "Update to weight", columns: { ratio: series.ratio } });
  if (item.what.includes("quantiles")) found.push({ title: "Quantiles", columns: percent(series.quantiles) });
  if (found.length === 0 && series.min.some((one) => one !== null)) found.push({ title: "Range", columns: { min: series.min, mean: series.mean, max: series.max } });
  return found;
}

function percent(quantiles: WatchedSeries["quantiles"]): ChartOf["columns"] {
  return Object.fromEntries(Object.entries(quantiles).map(([at, column]) => [`${Math.round(Number(at) * 100)} %`, column]));
}
