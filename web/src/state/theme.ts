/** Dark or light: the system's, until the reader chooses. */
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { recall, remember } from "./storage";

export type Theme = "dark" | "light";

const system = matchMedia("(prefers-color-scheme: light)");
const systems = signal<Theme>(system.matches ? "light" : "dark");
system.addEventListener("change", () => (systems.value = system.matches ? "light" : "dark"));

const chosen = signal<Theme | null>(remembered());

/** What is on screen; charts that draw on canvas read their colours anew when it changes. */
export const theme: ReadonlySignal<Theme> = computed(() => chosen.value ?? systems.value);

export function toggleTheme(): void {
  const next = theme.peek() === "dark" ? "light" : "dark";
  chosen.value = next === systems.peek() ? null : next;
  remember("theme", chosen.peek());
}

/** The value of a CSS variable in the theme on screen: `colour("--bad")`; for what is drawn on canvas. */
export function colour(variable: string): string {
  void theme.value;
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

function remembered(): Theme | null {
  const word = recall("theme");
  return word === "dark" || word === "light" ? word : null;
}
