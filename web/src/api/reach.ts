/** Whether the server answers. */
import { batch, signal } from "@preact/signals";

export const reachable = signal(true);
/** Counts up when the server answers again, so that failed requests are sent again. */
export const returns = signal(0);

export function unanswered(): void {
  reachable.value = false;
}

export function answered(): void {
  if (reachable.peek()) return;
  batch(() => {
    reachable.value = true;
    returns.value += 1;
  });
}
