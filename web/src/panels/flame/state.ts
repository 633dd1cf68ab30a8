/** Which step the flame chart shows, and which stretch of it. */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Flame } from "../../api/types";
import { drift, part } from "../../state/address";
import { type View, within } from "../timeline/view";

const said = part("timed");

/** The requested step; null: a typical one. */
export const chosen: ReadonlySignal<number | null> = computed(() => (/^\d{1,15}$/.test(said.value ?? "") ? Number(said.value) : null));
/** The flame chart on screen; the panel sets it when the server has answered. */
export const shown = signal<Flame | null>(null);
export const asTable = signal(false);

const stretch = signal<View | null>(null); // null: the whole step
export const whole: ReadonlySignal<View> = computed(() => ({ from: 0, to: shown.value ? Math.max(shown.value.to - shown.value.from, 1e-6) : 1 }));
export const view: ReadonlySignal<View> = computed(() => (stretch.value ? within(stretch.value, whole.value) : whole.value));

export function setView(next: View | null): void {
  stretch.value = next;
}

export function showStep(step: number | null): void {
  stretch.value = null;
  drift({ timed: step });
}
