/** A paused program, as the server answers it. */
import type { TensorId } from "./types";

// GET /api/runs/{run}/pause -> Pause; also the event "pause"
/** none: there is no program to talk to; gone: it was paused, and died so. What is not about a paused program is null. */
export interface Pause {
  state: "none" | "running" | "paused" | "gone";
  pause: number | null; // counts up
  why: string | null; // the condition
  name: string | null;
  op: string | null;
  layer: string | null;
  file: string | null;
  line: number | null;
  step: number | null;
  iteration: number | null;
  dtype: string | null;
  shape: (number | null)[] | null;
  seen: { name: string; value: string }[];
  tensor: TensorId | null; // until the run that was read has it
}

// POST /api/runs/{run}/debug {command, columns} -> Commanded
export interface Commanded {
  parts: { text: string; style: string }[]; // of bold, dim, red, green, cyan, yellow
  failed: string | null; // why the command could not be done
  pause: Pause | null; // how the program stands now; null: it has gone
}
