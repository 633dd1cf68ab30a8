/** The state of the timeline: the stretch of time, the loaded bins, the scalar over them. */
import { batch, computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { exported, type RequestFailed } from "../../api/client";
import type { Points, Scalar, Timeline } from "../../api/types";
import { drift, part } from "../../state/address";
import { ofRun, runName } from "../../state/name";
import { cursor } from "../../state/run";
import { Latest } from "./latest";
import { afterFirst } from "./steps";
import { isWhole, type View, within } from "./view";

export const BINS = 1200; // the same for every width, so that a request has one address, and an exported page has the answer
export const POINTS = 1000;
const PAUSE = 140; // ms without a wheel or a drag before finer bins are requested

export const bins = signal<Timeline | null>(null);
export const points = signal<Points | null>(null);
export const scalars = signal<Scalar[]>([]);
export const trouble = signal<RequestFailed | null>(null);
export const asTable = signal(false); // for readers who do not see the drawing
export const turned = signal<ReadonlySet<string>>(new Set()); // groups of lanes that the reader opened or closed

const time = part("time");
const wanted = part("scalar");
const zoomed = signal<View | null>(parse(time.peek()));

export const whole: ReadonlySignal<View> = computed(() => (bins.value ? { from: bins.value.begin, to: Math.max(bins.value.end, bins.value.begin + 1e-6) } : { from: 0, to: 1 }));
/** The begin of the second step, if the first took most of the run because TensorFlow traces in it. */
export const late = signal<number | null>(null);
const everything = signal(false); // the reader chose the whole run
const begin = (): number | null => (everything.value ? null : late.value);
/** Follows the program unless the reader zoomed. Hides a first step that would leave the others no room, until the reader chooses all. */
export const view: ReadonlySignal<View> = computed(() => (zoomed.value ? within(zoomed.value, whole.value) : { ...whole.value, from: begin() ?? whole.value.from }));
/** Whether the first step is hidden. */
export const clipped: ReadonlySignal<boolean> = computed(() => !zoomed.value && begin() !== null);
/** The selected scalar, else the likely loss; null: none, or turned off. */
export const scalar: ReadonlySignal<Scalar | null> = computed(() => {
  if (wanted.value === "none") return null;
  return scalars.value.find((one) => one.op === wanted.value) ?? scalars.value[0] ?? null;
});

export function setView(next: View | null): void {
  const all = next === null || isWhole(next, whole.peek());
  batch(() => {
    zoomed.value = all ? null : next;
    if (all) everything.value = true;
  });
}

/** Hides a first step that took most of the run. */
export function showSteps(): void {
  batch(() => ((zoomed.value = null), (everything.value = false)));
}

export function chooseScalar(op: string): void {
  drift({ scalar: op });
}

export function turn(group: string): void {
  const next = new Set(turned.peek());
  if (!next.delete(group)) next.add(group);
  turned.value = next;
}

/** Starts requesting the visible part. */
export function followTimeline(): () => void {
  const stops = [followRun(), followAddress(), writeAddress(), askBins(), askScalars(), askPoints()];
  return () => stops.forEach((stop) => stop());
}

function followRun(): () => void {
  let before: string | null = null;
  return effect(() => {
    const now = runName.value;
    batch(() => {
      bins.value = points.value = trouble.value = null;
      scalars.value = [];
      late.value = null;
      everything.value = false;
      if (before !== null && now !== before) zoomed.value = null;
    });
    before = now;
  });
}

function followAddress(): () => void {
  return effect(() => {
    const asked = parse(time.value);
    if (written(asked) !== untracked(() => written(zoomed.value))) zoomed.value = asked;
  });
}

/** A history entry for each zoom would bury the reader's history, so the address changes only when the zoom has come to rest. */
function writeAddress(): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const stop = effect(() => {
    const text = written(zoomed.value);
    clearTimeout(timer);
    timer = setTimeout(() => drift({ time: text }), PAUSE);
  });
  return () => (clearTimeout(timer), stop());
}

const stretch = (): { from: number | null; to: number | null } => ({ from: zoomed.value?.from ?? begin(), to: zoomed.value?.to ?? null });

function askBins(): () => void {
  const latest = new Latest<Timeline>(
    (answer) => batch(() => ((bins.value = answer), (trouble.value = null), (late.value ??= afterFirst(answer)))),
    (error) => void (bins.peek() || (trouble.value = error)),
  );
  const stop = effect(() => {
    void cursor.value;
    const path = ofRun("timeline");
    const { from, to } = stretch();
    if (exported() && untracked(() => bins.value)) return; // an exported page contains the whole run, and no finer bins
    const early = untracked(() => bins.value === null);
    if (path) latest.ask(path, early && exported() ? { bins: BINS } : { from, to, bins: BINS }, early ? 0 : PAUSE);
  });
  return () => (latest.stop(), stop());
}

function askScalars(): () => void {
  const latest = new Latest<{ items: Scalar[] }>((answer) => (scalars.value = answer.items), () => undefined);
  const stop = effect(() => {
    void cursor.value;
    const path = ofRun("scalars");
    if (path) latest.ask(path, {}, 0);
  });
  return () => (latest.stop(), stop());
}

function askPoints(): () => void {
  const latest = new Latest<Points>((answer) => (points.value = answer), () => undefined);
  let before: string | null = null;
  const stop = effect(() => {
    void cursor.value;
    const op = scalar.value?.op ?? null;
    const { from, to } = stretch();
    if (op !== before) points.value = null;
    const early = op !== before;
    before = op;
    const path = op === null ? null : ofRun(`scalars/${encodeURIComponent(op)}`);
    if (path === null || (exported() && !early)) return latest.stop();
    latest.ask(path, exported() ? { points: POINTS } : { points: POINTS, from, to }, early ? 0 : PAUSE);
  });
  return () => (latest.stop(), stop());
}

/** "1.25..3.5" in the address. */
export function parse(text: string | null): View | null {
  const parts = (text ?? "").split("..");
  const [from, to] = parts.map((part) => (part === "" ? NaN : Number(part)));
  return parts.length === 2 && from! >= 0 && to! > from! && to! < Infinity ? { from: from!, to: to! } : null;
}

export function written(stretch: View | null): string | null {
  return stretch && `${Number(stretch.from.toFixed(7))}..${Number(stretch.to.toFixed(7))}`;
}
