/** The focus of all panels: the run and the tensor. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { TensorId } from "../api/types";
import { drift, go, part } from "./address";
import { first } from "./first";
import { runName } from "./name";
import { verdict } from "./run";

export { runName };

const chosen = part("tensor");

/** The chosen tensor; until then, the origin of the first finding. */
export const meant: ReadonlySignal<TensorId | null> = computed(() => chosen.value ?? verdict.value?.findings[0]?.tensor ?? null);

/** The same; in a healthy run, until one is chosen, its loss. */
export const focus: ReadonlySignal<TensorId | null> = computed(() => meant.value ?? healthy());

function healthy(): TensorId | null {
  if (verdict.value === null || verdict.value.findings.length > 0) return null;
  return first.value?.run === runName.value ? (first.value?.tensor ?? null) : null;
}

/** Focuses every panel. */
export function setFocus(tensor: TensorId | null): void {
  go({ tensor, src: null });
}

/** The same for arrow keys, without an entry in the browser's history for each step. */
export function slideFocus(tensor: TensorId): void {
  drift({ tensor, src: null });
}
