/** Where the memory went, as the server answers it. */
import type { Place, TensorId } from "./types";

export type By = "kind" | "layer" | "line" | "op" | "dtype";

// GET /api/runs/{run}/memory?process=&near=&points=800 -> Memory; near: seconds, around which tensors are told where there are too many for all
export interface Memory {
  process: number | null; // null: nothing was sampled
  processes: { number: number; name: string; peak: number }[]; // that were sampled, the largest first
  part: { from: number; to: number; rows: number; of: number } | null; // tensors are told for these seconds only; null: for all
  limit: number | null; // of the cgroup; all amounts are bytes
  start: number; // resident when recording began
  peak: number; // resident at most
  at: number; // of the peak: of the moments within 2 % of the most, the one with most in tensors; all times are seconds since the run began
  lost: number; // rows that were written over
  seconds: number[]; // at most `points`: where there were more samples, the fullest of each stretch
  steps: (number | null)[];
  resident: number[];
  kinds: { kind: string; bytes: (number | null)[] }[]; // of the tensors that were alive; null: not looked at
  marks: { seconds: number; name: string }[]; // where epochs or steps begin, at most 100
}

// GET /api/runs/{run}/memory/at?process=&near=&at=&by=kind -> MemoryMoment; at: seconds, the peak where it is left out
export interface MemoryMoment {
  seconds: number;
  step: number | null;
  peak: boolean;
  known: boolean; // false: the tensors of that moment were not looked at
  resident: number;
  growth: { bytes: number; tensors: number; kept: number; own: number; working: number; rest: number; explained: number }; // docs/memory.md
  running: string[]; // types of ops
  by: By;
  groups: MemoryGroup[]; // the largest first
  moreGroups: number;
  tensors: MemoryTensor[]; // the largest, at most 60
  total: number;
  bytes: number; // of all tensors that were alive
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
