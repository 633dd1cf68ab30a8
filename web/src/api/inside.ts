/** The server's answers about layer statistics; docs/inside.md says what is sampled, docs/http-api.md lists the routes. */
import type { Place, TensorId } from "./types";

// GET /api/runs/{run}/inside -> Inside
export interface Inside {
  attention: number; // how many there are
  layers: number; // outputs, gradients and updates
}

// GET /api/runs/{run}/attention -> AttentionList
export interface AttentionList {
  items: AttentionItem[]; // in the order of the graph
  leftOut: number;
  remarks: Remark[]; // worst first
  why: string | null; // why there is none
}
export interface AttentionItem {
  id: string;
  name: string; // its layer, or the op
  by: "probe" | "replay"; // replay: seen by replaying the call
  heads: number;
  shown: number; // heads whose weights were kept
  samples: number;
  queries: number;
  keys: number;
  steps: number[]; // of each sample
  place: Place | null;
}
/** Anomalies of the heads of an attention (docs/transformers.md). */
export interface Remark {
  what: string; // "dead", "uniform", "collapsed", …
  severity: "error" | "note";
  layer: string; // the name of the attention
  heads: number[];
  who: string; // "head 2", "all 8 heads"
  words: string; // the rest of the sentence
}

// GET /api/runs/{run}/attention/{id}/heads -> HeadLines
export interface HeadLines {
  steps: number[];
  columns: Record<"entropy" | "distance" | "sink", (number | null)[][]>; // a row for each head, a number for each step; at most 32 and 100
}
export type Statistic = "entropy" | "distance" | "sink" | "collapse" | "off_sum" | "ahead" | "nan_rows" | "zero_rows";

// GET /api/runs/{run}/attention/{id}/thumbs?step&sample -> Thumbs; step: the last sample up to it; by default the latest
export interface Thumbs {
  rows: number; // at most 32
  columns: number;
  heads: string[]; // bytes in base64: 255 is the largest weight of that head
}

// GET /api/runs/{run}/attention/{id}/weights?step&sample&head -> Weights
export interface Weights {
  step: number;
  sample: number;
  head: number;
  rows: number; // cells, at most 256
  columns: number;
  queries: number;
  keys: number;
  rowBlock: number; // queries merged into one row: their mean
  columnBlock: number; // keys merged into one column: their sum
  cells: string; // float32 in base64, row after row
  numbers: Record<Statistic, number | null>; // of the head, over all samples
  query: Axis | null; // null: the model got no ids of that length
  key: Axis | null;
}
export interface Axis {
  ids: string[];
  words: string[] | null; // null: no vocabulary was given
}

// GET /api/runs/{run}/layers?kind= -> Layers; by default the first available kind
export interface Layers {
  kinds: LayerKind[]; // the available kinds
  kind: LayerKind;
  why: string | null; // why there is nothing to see
  steps: number[]; // at most 100 of the samples
  looks: number;
  rows: LayerRow[]; // outputs, updates, variables: from first to last; gradients: from last to first
  leftOut: number; // rows beyond 256
  measures: Partial<Record<Measure, string>>; // float32 in base64, row after row; NaN: no sample
  bad: string | null; // the same: the number of non-finite values; null: none anywhere
}
export type LayerKind = "output" | "gradient" | "update" | "variable";
export type Measure = "norm" | "mean" | "std" | "zeros" | "dead" | "saturated" | "ratio";
export interface LayerRow {
  id: string;
  name: string;
  shape: number[];
  place: Place | null;
}

// GET /api/runs/{run}/layers/at?id=&step= -> Spot; id: of an attention or a row of layers
export interface Spot {
  tensor: TensorId | null;
  place: Place | null;
}

/** Decodes numbers from base64. */
export function unpacked(text: string): Float32Array {
  const bytes = unpackedBytes(text);
  return new Float32Array(bytes.buffer, 0, bytes.length >> 2);
}

export function unpackedBytes(text: string): Uint8Array<ArrayBuffer> {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
