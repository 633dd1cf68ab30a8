/** What the program watched and logged, as the server answers it. */

// GET /api/runs/{run}/watched -> Watched; what `tensorsleuth.watch` looked at
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
// GET /api/runs/{run}/watched/{series}?points=400 -> WatchedSeries; null: not finite, or not known
export interface WatchedSeries {
  step: number[];
  scalar: (number | null)[];
  norm: (number | null)[];
  ratio: (number | null)[]; // of a variable or an update: how large the step was, against the weights before it
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
  quantiles: Record<string, (number | null)[]>;
  ridges: Ridge[]; // at most 40, oldest first
  images: string[]; // of the latest look: data: addresses
  texts: string[];
}
export interface Ridge {
  step: number;
  min: number;
  max: number;
  bins: number[]; // of one width, from min to max
}
// GET /api/runs/{run}/logs?begin=0&end=100 -> Logs
export interface Logs {
  begin: number;
  end: number;
  total: number;
  items: { time: number; step: number; message: string; file: string | null; line: number | null }[];
}
