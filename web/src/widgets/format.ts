/** Numbers, shapes and times as the page writes them. */

const MINUS = "−";
const grouped = new Intl.NumberFormat("en-US");

/** A count: 1,234,567. */
export function count(n: number): string {
  return grouped.format(n).replace("-", MINUS);
}

/** A count in little space: 1.2M. */
export function short(n: number): string {
  if (Math.abs(n) < 10_000) return count(n);
  const [unit, by] = Math.abs(n) < 999_500 ? ["k", 1e3] : Math.abs(n) < 999_500_000 ? ["M", 1e6] : (["G", 1e9] as const);
  const scaled = n / (by as number);
  return `${Math.abs(scaled) < 99.95 ? trim(scaled.toFixed(1)) : Math.round(scaled)}${unit}`.replace("-", MINUS);
}

/** A value, to four digits: 0.03125, 1.235e−7; null (unknown, or not finite) is a dash. */
export function value(x: number | null): string {
  if (x === null) return "–";
  const size = Math.abs(x);
  if (x === 0) return "0";
  return digits(x, size).replaceAll("-", MINUS);
}

function digits(x: number, size: number): string {
  if (size >= 1e5 || size < 1e-3) return trim(x.toExponential(3)).replace("e+", "e");
  return size >= 9999.5 ? String(Math.round(x)) : trim(x.toPrecision(4));
}

/** 64×10; a scalar is "scalar"; unknown: "?". */
export function shape(sizes: number[] | null): string {
  if (sizes === null) return "?";
  return sizes.length ? sizes.map((n) => (n < 0 ? "?" : n)).join("×") : "scalar";
}

/** 340 µs, 12.4 ms, 3.2 s, 4 min 10 s. */
export function seconds(s: number): string {
  if (s < 1e-3) return `${trim((s * 1e6).toPrecision(3))} µs`;
  if (s < 1) return `${trim((s * 1e3).toPrecision(3))} ms`;
  if (s < 60) return `${trim(s.toPrecision(3))} s`;
  const minutes = Math.floor(s / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(s % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago, in one unit: "just now", "5 min ago", "3 days ago". */
export function ago(then: number, now = Date.now() / 1000): string {
  const units: [number, string][] = [[365 * 86400, "year"], [30 * 86400, "month"], [86400, "day"], [3600, "h"], [60, "min"]];
  for (const [size, unit] of units) {
    const n = Math.floor((now - then) / size);
    if (n >= 1) return `${n} ${unit}${size >= 86400 && n > 1 ? "s" : ""} ago`;
  }
  return "just now";
}

interface Moment {
  step: number | null;
  epoch: number | null;
  batch: number | null;
  iteration?: number | null;
}

/** "step 3, epoch 0, batch 3"; "" outside of any. Iteration 0 is not shown, because ops outside of loops have it, too. */
export function when(moment: Moment): string {
  const words = (["step", "epoch", "batch", "iteration"] as const).map((unit) => {
    const n = moment[unit] ?? -1;
    return n < (unit === "iteration" ? 1 : 0) ? "" : `${unit} ${count(n)}`;
  });
  return words.filter(Boolean).join(", ");
}

/** "1 tensor", "2 tensors". */
export function many(n: number, thing: string): string {
  return `${count(n)} ${thing}${n === 1 ? "" : "s"}`;
}

/** 1.500e-7 to 1.5e-7; 12.50 to 12.5. */
function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+(?=e|$)/, "") : text;
}

/** 8.4 MB, 963 MB, as in the terminal. */
export function bytes(n: number): string {
  let unit = 0;
  let size = Math.abs(n);
  for (; size >= 999.5 && unit < UNITS.length - 1; unit++) size /= 1000;
  const digits = unit > 0 && size < 9.95 ? trim(size.toFixed(1)) : String(Math.round(size));
  return `${n < 0 ? MINUS : ""}${digits} ${UNITS[unit]}`;
}

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];
