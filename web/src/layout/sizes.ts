/** The reader's division of the page: shares by name, remembered. */
import { signal } from "@preact/signals";
import { recall, remember } from "../state/storage";

const shares = signal<Record<string, number>>(read());
const LEAST = 0.12;

/** The share of a column ("left") or a box ("left/1"). */
export function share(name: string, otherwise = 1): number {
  return shares.value[name] ?? otherwise;
}

/** Moves the border between two neighbours by a share of their common room. */
export function shift(before: string, after: string, by: number, otherwise: [number, number]): void {
  const [a, b] = [share(before, otherwise[0]), share(after, otherwise[1])];
  const next = Math.min(a + b - LEAST, Math.max(LEAST, a + by * (a + b)));
  shares.value = { ...shares.peek(), [before]: next, [after]: a + b - next };
  remember("shares", JSON.stringify(shares.peek()));
}

function read(): Record<string, number> {
  try {
    const kept: unknown = JSON.parse(recall("shares") ?? "{}");
    const pairs = Object.entries(kept as Record<string, unknown>).filter(([, n]) => typeof n === "number" && n > 0);
    return Object.fromEntries(pairs) as Record<string, number>;
  } catch {
    return {};
  }
}
