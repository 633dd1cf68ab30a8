/** The keyboard. Each key is defined here once, and the help lists the same. */
import { signal } from "@preact/signals";
import { exported } from "../api/client";
import { PANELS } from "../panels/registry";
import { jump } from "./alerts";
import { fill, showPanel, whole } from "./panels";
import { consoleOpen, paused, send } from "./pause";
import { toggleTheme } from "./theme";

export interface Key {
  keys: string[];
  what: string;
  act: () => void;
  /** The focused element handles it; only the help lists it. */
  local?: boolean;
}

export const helpOpen = signal(false);

/** Moves the focus in the list of tensors by that many rows; the list sets it while it is on the page. */
export const moveInList: { by: ((rows: number) => void) | null } = { by: null };

export const KEYS: Key[] = [
  { keys: ["/"], what: "Search for a tensor, layer, op or line", act: () => focusOn("search") },
  { keys: ["n"], what: "Next alert", act: () => void jump("next") },
  { keys: ["p"], what: "Previous alert", act: () => void jump("previous") },
  { keys: ["j", "ArrowDown"], what: "Next tensor in the list", act: () => moveInList.by?.(1) },
  { keys: ["k", "ArrowUp"], what: "Previous tensor in the list", act: () => moveInList.by?.(-1) },
  { keys: ["Enter"], what: "In the list: show the tensor's panel", act: () => undefined, local: true },
  { keys: ["v"], what: "Open or close the verdict", act: () => document.getElementById("verdict-toggle")?.click() },
  { keys: ["r"], what: "Choose another run", act: () => document.getElementById("run-picker")?.click() },
  { keys: ["C"], what: "Paused: continue", act: () => drive("continue") },
  { keys: ["S"], what: "Paused: step, to the next training step", act: () => drive("step") },
  { keys: ["U"], what: "Paused: on until a condition holds", act: () => focusOn("until") },
  { keys: [":"], what: "Paused: give a command", act: openConsole },
  { keys: ["d"], what: "Dark or light", act: toggleTheme },
  { keys: ["?"], what: "This help", act: () => (helpOpen.value = !helpOpen.peek()) },
  { keys: ["Escape"], what: "Close, or back to all panels", act: leave },
];

/** The keys above, and one for each panel that has a key; an exported page has only one run to choose from. */
export function allKeys(): Key[] {
  const panels = PANELS.filter((panel) => panel.key).map((panel) => ({ keys: [panel.key as string], what: `Show ${panel.title.toLowerCase()}`, act: () => openPanel(panel.id) }));
  return [...KEYS.filter((key) => !exported() || !key.keys.includes("r")), ...panels];
}

/** Starts handling keys; returns a function that stops it. */
export function listenToKeys(): () => void {
  const press = (event: KeyboardEvent): void => void pressed(event);
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

/** Returns whether the key was ours. */
export function pressed(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (writing(event.target) && event.key !== "Escape") return false;
  if (event.key.startsWith("Arrow") && event.target !== document.body) return false; // they move within the focused element
  const key = allKeys().find((one) => !one.local && one.keys.includes(event.key));
  if (!key) return false;
  event.preventDefault();
  key.act();
  return true;
}

function writing(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function focusOn(id: string): void {
  const element = document.getElementById(id);
  element?.focus();
  if (element instanceof HTMLInputElement) element.select();
}

function drive(command: string): void {
  if (paused.peek()) void send(command);
}

function openConsole(): void {
  if (!paused.peek()) return;
  consoleOpen.value = true;
  requestAnimationFrame(() => focusOn("command"));
}

function openPanel(id: string): void {
  showPanel(id);
  requestAnimationFrame(() => focusOn(`panel-${id}`));
}

function leave(): void {
  if (helpOpen.peek()) helpOpen.value = false;
  else if (writing(document.activeElement)) (document.activeElement as HTMLElement).blur();
  else if (whole.peek()) fill(null);
}
