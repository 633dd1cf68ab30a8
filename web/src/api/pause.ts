/** The server's answers about a paused program. */
import type { TensorId } from "./types";

// GET /api/runs/{run}/pause -> Pause; also the event "pause"
/** none: there is no program to talk to; gone: it died while paused. Fields that do not apply are null. */
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
  tensor: TensorId | null; // null until the server has read it
}

// POST /api/runs/{run}/debug {command, columns} -> Commanded
export interface Commanded {
  parts: { text: string; style: string }[]; // of bold, dim, red, green, cyan, yellow
  failed: string | null; // why the command failed
  pause: Pause | null; // the program's state after the command; null: it has gone
}
