/** The visible stretch of the run, and how it moves. Seconds since the run began; pixels from the left of the plot. */
export interface View {
  from: number;
  to: number;
}

const NARROWEST = 1e-6; // seconds: the clock of a trace has nanoseconds, but floats since the run began do not

export const toX = (view: View, width: number, time: number): number => ((time - view.from) / (view.to - view.from)) * width;
export const toTime = (view: View, width: number, x: number): number => view.from + (x / width) * (view.to - view.from);

/** Clamps a view to the run, and to the narrowest useful width; shifts it instead of cutting if one side is outside. */
export function within(view: View, whole: View): View {
  const widest = Math.max(whole.to - whole.from, NARROWEST);
  const span = Math.min(Math.max(view.to - view.from, NARROWEST), widest);
  const middle = (view.from + view.to) / 2;
  const from = Math.min(Math.max(middle - span / 2, whole.from), whole.from + widest - span);
  return { from, to: from + span };
}

/** Zoom so that `at` stays where it is on screen; a factor below 1 zooms in. */
export function zoom(view: View, whole: View, at: number, factor: number): View {
  const span = Math.max((view.to - view.from) * factor, NARROWEST);
  const share = (at - view.from) / (view.to - view.from);
  const from = at - share * span;
  return within({ from, to: from + span }, whole);
}

export function pan(view: View, whole: View, seconds: number): View {
  const by = Math.max(Math.min(seconds, whole.to - view.to), whole.from - view.from);
  return within({ from: view.from + by, to: view.to + by }, whole);
}

/** Whether the view is the whole run, except for rounding errors of zooming in and out. */
export function isWhole(view: View, whole: View): boolean {
  const little = (whole.to - whole.from) * 1e-9;
  return view.from <= whole.from + little && view.to >= whole.to - little;
}

/** `view`, shifted so that `time` is on screen; the same object if it already is. */
export function showing(view: View, whole: View, time: number): View {
  if (time >= view.from && time <= view.to) return view;
  return pan(view, whole, time - (view.from + view.to) / 2);
}

/** Round times to write along the axis, about `count` of them. */
export function ticks(view: View, count: number): number[] {
  const step = roundStep((view.to - view.from) / Math.max(count, 1));
  const first = Math.ceil(view.from / step - 1e-9);
  const last = Math.floor(view.to / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, at) => (first + at) * step);
}

/** 1, 2 or 5 times a power of ten, at least `rough`. */
export function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((many) => many * power >= rough * (1 - 1e-9)) ?? 10) * power;
}

/** "1.25 s", "340 ms", "12 µs": with as many digits as `step` needs to distinguish neighbours. */
export function duration(seconds: number, step = Math.abs(seconds) / 100): string {
  const [unit, many] = unitOf(Math.max(Math.abs(seconds), step));
  const digits = Math.min(Math.max(Math.ceil(-Math.log10((step || many) / many) - 1e-9), 0), 9);
  const text = (seconds / many).toFixed(digits);
  return `${text.includes(".") && step === Math.abs(seconds) / 100 ? text.replace(/\.?0+$/, "") : text} ${unit}`;
}

function unitOf(seconds: number): [string, number] {
  if (seconds >= 1 || seconds === 0) return ["s", 1];
  if (seconds >= 1e-3) return ["ms", 1e-3];
  if (seconds >= 1e-6) return ["µs", 1e-6];
  return ["ns", 1e-9];
}
