/** What is read out to those who do not see the page, and shown for a moment where it answers a key. */
import { signal } from "@preact/signals";

export const said = signal("");
export const noted = signal("");

let timer: ReturnType<typeof setTimeout> | undefined;

/** Read out, and shown at the foot of the page for a moment. */
export function say(text: string): void {
  said.value = text;
  noted.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (noted.value = ""), 2500);
}

/** Only read out. */
export function announce(text: string): void {
  said.value = text;
}
