/** The server's answer about how a program ended; docs/crashes.md explains each field. */
import type { Frame, Place } from "./types";

export interface Ending {
  kind: string; // the cause of a finding, or finished, exit, stopped, running, unknown
  exit: number | null;
  signal: string | null;
  step: number | null;
  when: string;
  quiet: number | null; // seconds since the last op ended
  doing: Doing[]; // the main thread first
  moreThreads: number;
  stacks: { current: boolean; frames: Frame[] }[]; // innermost first; current: the thread that crashed
  memory: MemoryAtEnd | null;
  said: string[]; // the last lines that it printed
}
/** What a thread had begun; `inside`, in a function: the running ops, likeliest first. */
export interface Doing {
  thread: string;
  op: string;
  layer: string | null;
  seconds: number | null;
  ended: boolean;
  makes: string | null;
  bytes: number | null;
  place: Place | null;
  inside: Doing[];
}
export interface MemoryAtEnd {
  used: number | null;
  peak: number | null;
  limit: number | null;
  machine: number | null;
  curve: [number, number][]; // seconds relative to the end, which is 0; bytes
  largest: Held[];
  oldest: Held[];
}
export interface Held {
  name: string;
  dtype: string;
  shape: number[] | null;
  bytes: number;
  seconds: number | null; // old
  step: number | null;
  count: number;
  place: Place | null;
}
