/** What the page shows, kept in its address: `#run=…&tensor=0.17&panel=graph&op=Log`, to be sent to a colleague. */
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";

const text = signal(location.hash.slice(1));

export const address: ReadonlySignal<URLSearchParams> = computed(() => new URLSearchParams(text.value));

/** Change some of it; null takes a part away. A new entry in the browser's history. */
export function go(changes: Record<string, string | number | null>): void {
  const next = new URLSearchParams(text.peek());
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(key);
    else next.set(key, String(value));
  }
  if (next.toString() === text.peek()) return;
  text.value = next.toString();
}

/** One part of the address as a signal. */
export function part(key: string): ReadonlySignal<string | null> {
  return computed(() => address.value.get(key));
}

effect(() => {
  if (text.value !== location.hash.slice(1)) history.pushState(null, "", `#${text.value}`);
});
addEventListener("popstate", () => (text.value = location.hash.slice(1)));
addEventListener("hashchange", () => (text.value = location.hash.slice(1)));
