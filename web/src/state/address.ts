/** The state of the page, kept in its address: `#run=…&tensor=0.17&panel=graph&op=Log`, to send to a colleague. */
import { computed, signal, type ReadonlySignal } from "@preact/signals";

export type Changes = Record<string, string | number | null>;

const text = signal(location.hash.slice(1));

export const address: ReadonlySignal<URLSearchParams> = computed(() => new URLSearchParams(text.value));

/** Changes some parts, with a new entry in the browser's history; null removes a part. */
export function go(changes: Changes): void {
  move(changes, "pushState");
}

/** The same without an entry, for automatic changes or many a second (typing, arrow keys). */
export function drift(changes: Changes): void {
  move(changes, "replaceState");
}

/** Whether it currently changes many times a second, so that expensive work may wait for the last change. */
export function drifting(): boolean {
  return drifted;
}

let drifted = false;

/** One part of the address as a signal. */
export function part(key: string): ReadonlySignal<string | null> {
  return computed(() => address.value.get(key));
}

/** The address with some parts changed, for links. */
export function href(changes: Changes): string {
  return `#${changed(changes)}`;
}

function move(changes: Changes, how: "pushState" | "replaceState"): void {
  const next = changed(changes);
  if (next === text.peek()) return;
  drifted = how === "replaceState";
  text.value = next;
  try {
    history[how](null, "", `#${next}`);
  } catch {
    // a sandboxed page may not, and a browser refuses too many a second; the page still works
  }
}

function changed(changes: Changes): string {
  const next = new URLSearchParams(text.peek());
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(key);
    else next.set(key, String(value));
  }
  return next.toString();
}

const follow = (): void => {
  drifted = false;
  text.value = location.hash.slice(1);
};
addEventListener("popstate", follow);
addEventListener("hashchange", follow);
