/** Whether the server answers. */
import { batch, signal } from "@preact/signals";

export const reachable = signal(true);
/** Goes up when it answers again: what failed meanwhile is asked anew. */
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
