/** The server's answers; docs/http-api.md describes them in words. Every field is always present: an unknown value is null. */
import type { Ending } from "./ending";

export type * from "./pause";
export type * from "./watched";

/** A part of a long list: items begin … end-1 of total. */
export interface PageOf<T> {
  begin: number;
  end: number;
  total: number;
  items: T[];
}

/** The body of every answer that is not 2xx. */
export interface Failure {
  error: { what: string; next: string | null };
}

/** Names one tensor at one moment: "process.number", for example "0.1841": its process, and its index among the events there. */
export type TensorId = string;
/** Names one op: "process.first", the id of its first output in the catalogue. */
export type OpId = string;

// GET /api/runs -> PageOf<RunSummary>, newest first
export interface RunSummary {
  name: string;
  program: string;
  command: string;
  started: number | null; // seconds since 1970
  seconds: number | null;
  status: "running" | "finished" | "failed" | "killed" | "unknown";
  ending: string; // in words: "exit 0", "killed by SIGKILL"
  mode: string; // docs/recording.md; "unknown" if the run does not say
  steps: number;
  tensors: number;
  bad: number;
}

// GET /api/runs/{run} -> Run
export interface Run extends RunSummary {
  modeWhat: string; // what this mode records and what it does not, in a sentence
  records: { health: boolean; counts: boolean; range: boolean; shapes: boolean; values: boolean };
  tensorflow: string | null;
  processes: { number: number; name: string; pid: number | null; device: string | null }[];
  firstStep: number | null;
  lastStep: number | null;
  layers: string[]; // of the ops, in the order they were first made; for the filter
  opTypes: string[];
  files: SourceFile[];
  notCovered: { what: string; why: string; site: string | null }[];
  trouble: string[];
  cursor: number; // grows as the program goes on
  live: boolean;
}

// GET /api/runs/{run}/verdict -> Verdict
export interface Verdict {
  verdict: "problem" | "healthy" | "unknown";
  unjudged: string | null; // for "unknown": why nothing was recorded
  unclear: { what: string; command: string | null }[]; // for "unknown": what was not seen, and the command that would show it
  unclear_words: string; // the sentence of `sleuth why` for "unknown"; else empty
  blind: string | null; // the mode, if it records no values
  findings: Finding[];
  masked: Finding[];
  notes: Finding[]; // advice: what costs time or memory, or deserves attention
  end: Ending | null; // how the program ended; null: unknown
}

/** The fields of `sleuth why --json`, and those that the page needs to set its focus. */
export interface Finding {
  cause: string;
  confidence: number;
  confidence_words: string; // as `sleuth why` prints it
  counted: string | null; // the same words if the finding needs no bad value
  severity: string;
  summary: string;
  file: string | null;
  line: number | null;
  function: string | null;
  code: string | null;
  op: string | null;
  name: string | null;
  layer: string | null;
  step: number | null;
  iteration: number | null;
  phase: string | null;
  epoch: number | null;
  batch: number | null;
  evidence: { role: string; name: string; op: string; dtype: string | null; shape: number[] | null; health: string; line: string | null; tensor: TensorId | null }[];
  worker: string | null;
  replica: string | null;
  others: string | null;
  fix: string | null;
  chain: { text: string; tensor: TensorId | null }[];
  seen: string | null;
  logged: string[]; // the last messages of tensorsleuth.log
  effects: string[]; // findings that follow from it, in words
  tensor: TensorId | null; // its origin
  place: Place | null; // the line to open in the source panel
  code_parts: [string, string, string] | null; // `code` before, in and behind the expression to mark
  shown_at: { file: string; line: number; function: string; code: string | null } | null; // where what `line` made is used
}

/** A line of a recorded file. */
export interface Place {
  file: number; // index into Run.files
  path: string;
  line: number;
  function: string;
  code: string | null;
}

export interface SourceFile {
  number: number;
  path: string;
  name: string; // shortened, but unique among the others
  lines: number;
  user: boolean; // false: a library's
}

// GET /api/runs/{run}/alerts?kind= -> Alerts (begin/end page the items, oldest first)
export interface Alerts extends PageOf<TensorRow> {
  counts: { kind: AlertKind; count: number; first: TensorId }[];
  violations: BrokenRule[]; // the first of each place and kind, oldest first
}
/** A broken expectation (docs/expect.md). */
export interface BrokenRule {
  tensor: TensorId | null; // the latest tensor before it, on the same line if possible
  name: string;
  sentence: string; // expected, found, positions and values
  change: string | null;
  severity: string;
  times: number;
  step: number | null;
  line: string | null; // "train.py:12"
  code: string | null;
  place: Place | null;
}
export type AlertKind = "nan" | "neg_inf" | "pos_inf" | "violation" | "error";

/** One line of the list of tensors. */
export interface TensorRow {
  id: TensorId;
  op: OpId;
  type: string;
  name: string; // with the output: "dense/MatMul:0"
  layer: string | null;
  graph: string | null; // the function it is in; null: eager
  step: number | null;
  epoch: number | null;
  batch: number | null;
  iteration: number | null;
  dtype: string;
  shape: number[] | null;
  elements: number;
  health: Health;
  gradient: boolean;
  variable: string | null; // the variable whose value it is, if any
  place: Place | null;
  lane: string; // its lane in the timeline
  time: number; // seconds since the run began
  kept: boolean; // whether its value was recorded
}

export interface Health {
  bad: boolean;
  nan: number; // -1: the mode does not count them
  negInf: number;
  posInf: number;
  neg: number;
  zero: number;
  pos: number;
  min: number | null; // of the finite ones
  max: number | null;
  mean: number | null;
  std: number | null;
  firstBad: number | null; // flat index
}

// GET /api/runs/{run}/tensors?begin&end&name&op&layer&from&to&health&file&line&graph&eager&sort&descending -> PageOf<TensorRow>
//   name, op, layer: plain or a regular expression, as for trace.tensors, but name and layer also match in part;
//   from, to: steps; health: bad | nan | inf | zero | healthy; sort: order | step | name | op | elements | nan | inf | min | max | mean
// GET /api/runs/{run}/tensors/at?id=&<the same filters> -> { index: number }, its index in that list; -1 if the filters exclude it
// GET /api/runs/{run}/next?id=&direction=next|previous&kind= -> { id: TensorId | null }, the next bad one

// GET /api/runs/{run}/tensors/{id} -> TensorDetail
export interface TensorDetail extends TensorRow {
  inputs: Neighbour[];
  consumers: Neighbour[];
  stack: Frame[]; // outermost first
  forward: { op: string; name: string; place: Place | null } | null; // of a gradient: the op that it differentiates
  words: string; // its health, in words, as `sleuth why` writes it
  violations: BrokenRule[]; // the rules that it breaks
}
/** An input or a consumer; id is null if it was not recorded (fused away, a constant, a write). */
export interface Neighbour {
  id: TensorId | null;
  op: OpId;
  type: string;
  name: string;
  bad: boolean;
  words: string;
  place: Place | null;
}
export interface Frame {
  place: Place | null;
  path: string;
  line: number;
  function: string;
  user: boolean;
}

// GET /api/runs/{run}/tensors/{id}/history?points=400 -> History: the same tensor over the run
export interface History {
  steps: (number | null)[]; // of each point: its last step; points are in the order of time
  ids: TensorId[]; // the worst of each point
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
  std: (number | null)[];
  nan: number[];
  inf: number[];
  zero: number[];
  elements: number[];
  total: number; // the number of moments, which the points aggregate
}

// GET /api/runs/{run}/tensors/{id}/value?slice=[0,:,3:9]&begin&end -> Value
export interface Value {
  shape: number[]; // of the slice
  of: number[]; // of the tensor
  dtype: string;
  slice: string;
  begin: number; // flat, in the slice
  end: number;
  total: number;
  items: (number | string | boolean | null)[]; // null: not JSON; then texts says it: "NaN", "-Infinity"
  texts: Record<number, string>;
  heat: { rows: number; columns: number; cells: (number | null)[]; bad: string; low: number | null; high: number | null } | null; // 2-D, at most 128 x 128 cells (block means); bad: one character a cell: ".", "n", "+", "-"
  histogram: { edges: number[]; counts: number[] } | null;
}

// GET /api/runs/{run}/timeline?from=&to=&bins= -> Timeline; from, to in seconds since the run began
export interface Timeline {
  from: number;
  to: number;
  begin: number; // of the whole run
  end: number;
  lanes: { id: string; name: string; kind: "thread" | "device" | "worker"; count: number[]; bad: number[]; first: (TensorId | null)[] }[]; // an entry for each bin; first: the first bad one, else the first
  steps: { step: number; epoch: number | null; from: number; to: number; bad: boolean; name: string }[]; // at most `bins`; empty if there are more: then stepBins
  stepBins: { first: (number | null)[]; last: (number | null)[]; bad: boolean[] } | null;
}
// GET /api/runs/{run}/flame?step= -> Flame; by default a typical step
export interface Flame {
  step: number | null; // null: nothing has run yet
  previous: number | null; // the recorded steps before and after
  next: number | null;
  slowest: { step: number; seconds: number; first: boolean }[]; // first: a function ran for the first time in it
  split: { part: "input" | "ops" | "eager" | "probes" | "unseen" | "python"; words: string; seconds: number; share: number }[]; // adds up to the step
  from: number; // of the step, in seconds since the run began, as the timeline's
  to: number;
  lanes: { name: string; depth: number }[]; // depth: the largest number of nested bars
  bars: FlameBar[]; // by lane, in the order of time
  leftOut: number; // bars that were too short to include
}
export interface FlameBar {
  lane: number;
  depth: number;
  kind: "call" | "eager" | "input" | "function" | "layer" | "op";
  name: string;
  from: number; // seconds since the step began
  to: number;
  op: string | null; // its name, if that says more
  place: string | null; // "train.py:7"
  layer: string | null;
  tensor: TensorId | null;
}
// GET /api/runs/{run}/scalars -> { items: Scalar[] }; the likely loss first
export interface Scalar {
  op: OpId;
  name: string;
  label: string; // "loss", if the name is known; else its line
  count: number;
}
// GET /api/runs/{run}/scalars/{op}?points=1000&from=&to= -> Points; from, to in seconds since the run began, as for the timeline; by default all
export interface Points {
  time: number[];
  step: (number | null)[];
  low: (number | null)[]; // of those that share a point
  high: (number | null)[];
  value: (number | null)[]; // the last; null: not finite
  ids: TensorId[];
}

// GET /api/runs/{run}/graph?id=&op=&up=2&down=2&open=group,group&close=group -> Neighbourhood; open: besides the groups around the focus and on the finding's way; id: around this tensor, at its moment; op (an OpId, where given):
//   around that op instead (one that has no row cannot be focused), at the same moment
export interface Neighbourhood {
  focus: string;
  nodes: GraphNode[];
  edges: { from: string; to: string; bad: boolean; back: boolean }[]; // back: a loop's next iteration
  groups: { id: string; name: string; kind: "function" | "loop" | "branch" | "layer"; parent: string | null; open: boolean; size: number; bad: boolean }[];
  more: number; // nodes left out, if there were too many
}
export interface GraphNode {
  id: string; // OpId, or the id of a closed group
  tensor: TensorId | null;
  type: string;
  name: string;
  label: string;
  group: string | null;
  bad: boolean;
  seen: boolean; // whether it has a row
  onPath: "origin" | "path" | "symptom" | null; // on the path of the first finding, from origin to symptom
  gradient: boolean;
  place: Place | null;
  up: boolean; // has more above that is not shown
  down: boolean;
}

// GET /api/runs/{run}/sources/{file}?at=<TensorId> -> Source, health of the step of that tensor
export interface Source {
  file: SourceFile;
  lines: { html: string; margin: Margin | null }[]; // html: Pygments', tokens as <span class="k">
  css: null;
}
export interface Margin {
  tensors: number;
  bad: number;
  firstBad: TensorId | null;
  first: TensorId;
  words: string; // "3 NaN of 1,000" or "range 0 … 1"
}

// GET /api/runs/{run}/compare?with={other} -> Comparison
export interface Comparison {
  run: string;
  with: string;
  same: boolean;
  compared: number; // tensors in both runs
  parted: { here: TensorRow; there: TensorRow; why: string } | null; // the first at which they diverge
  differing: { name: string; here: TensorRow; there: TensorRow; why: string }[]; // the first of each op, at most 200, in order
  onlyHere: string[]; // ops that the other run lacks, at most 100
  onlyThere: string[];
}

// GET /api/runs/{run}/live?cursor= -> text/event-stream: "change" with Run's {cursor, tensors, bad, steps, lastStep, status, live}; "verdict" when that changed
export interface Change {
  cursor: number;
  tensors: number;
  bad: number;
  steps: number;
  lastStep: number | null;
  status: RunSummary["status"];
  live: boolean;
}
