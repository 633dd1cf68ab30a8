/** The selected moment and process of the memory panel, and its grouping. */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { By, Memory } from "../../api/memory";
import type { Params } from "../../api/client";
import { drift, part } from "../../state/address";

export const BYS: Record<By, string> = { kind: "what for", layer: "layer", line: "line", op: "op", dtype: "type" };

const moment = part("at");
const sum = part("by");
const whose = part("mem");

/** In seconds; null: the peak. */
export const chosen: ReadonlySignal<number | null> = computed(() => (/^-?\d{1,9}(\.\d{1,9})?$/.test(moment.value ?? "") ? Number(moment.value) : null));
export const by: ReadonlySignal<By> = computed(() => (sum.value !== null && sum.value in BYS ? (sum.value as By) : "kind"));
export const process: ReadonlySignal<number | null> = computed(() => (/^\d{1,9}$/.test(whose.value ?? "") ? Number(whose.value) : null));
/** The memory on screen; the panel sets it when the server has answered. */
export const shown = signal<Memory | null>(null);

/** If there are too many tensors for all, the centre of the listed ones; it moves only when necessary. */
let last: number | null = null;
export const near: ReadonlySignal<number | null> = computed(() => {
  const told = shown.value?.part ?? null;
  const inside = told !== null && chosen.value !== null && chosen.value >= told.from && chosen.value <= told.to;
  if (!inside) last = told === null && last === null ? null : chosen.value;
  return last;
});

export const curveParams = (): Params => ({ process: process.value, near: near.value, points: 800 });
export const momentParams = (): Params => ({ process: process.value, near: near.value, at: chosen.value, by: by.value });

export function showMoment(seconds: number | null): void {
  drift({ at: seconds === null ? null : seconds.toFixed(6).replace(/\.?0+$/, "") });
}

export function addUpBy(next: By): void {
  drift({ by: next === "kind" ? null : next });
}

export function showProcess(number: number): void {
  shown.value = null;
  last = null;
  drift({ mem: number, at: null });
}
