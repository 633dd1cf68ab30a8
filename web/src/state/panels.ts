/** The panels in front. The address has the requested ones, the latest first: `panel=stack.graph`. */
import { computed, type ReadonlySignal } from "@preact/signals";
import { exported } from "../api/client";
import { PANELS, type Panel } from "../panels/registry";
import { go, part } from "./address";
import { inside } from "./inside";

const MOST = 6;
const asked = part("panel");
const filled = part("whole");

const recent: ReadonlySignal<string[]> = computed(() => asked.value?.split(".") ?? []);

/** The panels about more than this run; an exported page has only one run. */
export const beyond = (): Panel[] => (exported() ? [] : PANELS.filter((panel) => panel.region === "whole"));

/** The panel that fills the page. */
export const whole: ReadonlySignal<Panel | null> = computed(() => [...PANELS.filter((panel) => panel.region !== "whole"), ...beyond()].find((panel) => panel.id === filled.value) ?? null);

/** The panels with a place on the page; a panel for which this run has nothing appears only on request. */
export const placed: ReadonlySignal<Panel[]> = computed(() => PANELS.filter((panel) => !panel.sees || inside.value[panel.sees] > 0 || recent.value.includes(panel.id)));

/** Among panels that share a box, the one requested last, else the first. */
export function inFront(tabs: Panel[]): Panel {
  const id = recent.value.find((name) => tabs.some((tab) => tab.id === name));
  return tabs.find((tab) => tab.id === id) ?? (tabs[0] as Panel);
}

/** Brings a panel to the front, with other changes of the address if there are any. */
export function showPanel(id: string, changes: Record<string, string | number | null> = {}): void {
  const alone = PANELS.find((panel) => panel.id === id)?.region === "whole";
  const order = [id, ...recent.peek().filter((name) => name !== id)].slice(0, MOST);
  const stays = whole.peek() === null || whole.peek()?.id === id ? filled.peek() : null;
  go(alone ? { ...changes, whole: id } : { ...changes, panel: order.join("."), whole: stays });
}

/** Lets a panel fill the page, or undoes that. */
export function fill(id: string | null): void {
  go({ whole: id });
}
