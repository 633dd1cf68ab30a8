/** The server's answers about watched series and logged messages. */

// GET /api/runs/{run}/watched -> Watched; the series of `tensorsleuth.watch`
export interface Watched {
  items: WatchedItem[];
  logs: number; // messages of `tensorsleuth.log`
}
export interface WatchedItem {
  id: string;
  kind: "tensor" | "variable" | "gradient" | "update" | "point";
  name: string;
  what: ("scalar" | "norm" | "histogram" | "quantiles" | "image" | "text" | "value")[];
  looks: number;
  file: string | null;
  line: number | null;
}
// GET /api/runs/{run}/watched/{series}?points=400 -> WatchedSeries; null: not finite, or unknown
export interface WatchedSeries {
  step: number[];
  scalar: (number | null)[];
  norm: (number | null)[];
  ratio: (number | null)[]; // of a variable or an update: the size of the update relative to the weights before it
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  quantiles: Record<string, (number | null)[]>;
  ridges: Ridge[]; // at most 40, oldest first
  images: string[]; // of the latest sample: data: addresses
  texts: string[];
}
export interface Ridge {
  step: number;
  min: number;
  max: number;
  bins: number[]; // of equal width, from min to max
}
// GET /api/runs/{run}/logs?begin=0&end=100 -> Logs
export interface Logs {
  begin: number;
  end: number;
  total: number;
  items: { time: number; step: number; message: string; file: string | null; line: number | null }[];
}
