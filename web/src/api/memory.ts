/** The server's answers about memory. */
import type { Place, TensorId } from "./types";

export type By = "kind" | "layer" | "line" | "op" | "dtype";

// GET /api/runs/{run}/memory?process=&near=&points=800 -> Memory; near: seconds, the centre of the listed tensors if there are too many for all
export interface Memory {
  process: number | null; // null: nothing was sampled
  processes: { number: number; name: string; peak: number }[]; // sampled processes, the largest first
  part: { from: number; to: number; rows: number; of: number } | null; // tensors are listed for these seconds only; null: for all
  limit: number | null; // of the cgroup; all amounts are bytes
  start: number; // resident when recording began
  peak: number; // the highest resident memory
  at: number; // of the peak: among the moments within 2 % of the highest, the one with most bytes in tensors; all times are seconds since the run began
  lost: number; // rows that were overwritten
  seconds: number[]; // at most `points`: if there were more samples, the fullest of each stretch
  steps: (number | null)[];
  resident: number[];
  kinds: { kind: string; bytes: (number | null)[] }[]; // of live tensors; null: not computed
  marks: { seconds: number; name: string }[]; // where epochs or steps begin, at most 100
}

// GET /api/runs/{run}/memory/at?process=&near=&at=&by=kind -> MemoryMoment; at: seconds, by default the peak
export interface MemoryMoment {
  seconds: number;
  step: number | null;
  peak: boolean;
  known: boolean; // false: the tensors of that moment were not computed
  resident: number;
  growth: { bytes: number; tensors: number; kept: number; own: number; working: number; rest: number; explained: number }; // docs/memory.md
  running: string[]; // types of ops
  by: By;
  groups: MemoryGroup[]; // the largest first
  moreGroups: number;
  tensors: MemoryTensor[]; // the largest, at most 60
  total: number;
  bytes: number; // of all live tensors
}
export interface MemoryGroup {
  name: string;
  bytes: number;
  count: number;
  largest: string;
  shape: number[] | null;
  tensor: TensorId | null; // the largest
  place: Place | null; // of a line
}
export interface MemoryTensor {
  name: string;
  bytes: number;
  kind: string;
  op: string;
  dtype: string;
  shape: number[] | null;
  layer: string | null;
  place: Place | null;
  age: number; // seconds
  tensor: TensorId | null;
}
