/** What every panel looks at: the run, and the tensor in focus. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { TensorId } from "../api/types";
import { drift, go, part } from "./address";
import { verdict } from "./run";

export { runName } from "./name";

const chosen = part("tensor");

/** The tensor that was chosen; until then, where the first finding was born. */
export const focus: ReadonlySignal<TensorId | null> = computed(() => chosen.value ?? verdict.value?.findings[0]?.tensor ?? null);

/** Every panel follows. */
export function setFocus(tensor: TensorId | null): void {
  go({ tensor, src: null });
}

/** The same for arrow keys: without an entry in the browser's history for each step. */
export function slideFocus(tensor: TensorId): void {
  drift({ tensor, src: null });
}
