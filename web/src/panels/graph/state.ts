/** The parameters of the graph, kept in the address: its centre, how far up and down, which groups are open. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Params } from "../../api/client";
import type { GraphNode, Neighbourhood } from "../../api/types";
import { drift, go, part } from "../../state/address";
import { focus, setFocus } from "../../state/focus";

export const DEEPEST = 8;
const DEPTH = 2;

const [ups, downs, opens, closes, ats] = [part("up"), part("down"), part("open"), part("close"), part("at")];

export const depthOf = (text: string | null): number => {
  const deep = Number(text ?? DEPTH);
  return Number.isInteger(deep) && deep >= 0 ? Math.min(deep, DEEPEST) : DEPTH;
};
export const up = computed(() => depthOf(ups.value));
export const down = computed(() => depthOf(downs.value));

/** An op without a tensor cannot be in focus. The reader walks to it by its id, as long as the tensor in focus stays. */
const op = computed(() => opAt(ats.value, focus.value));

export function opAt(at: string | null, tensor: string | null): string | null {
  const [one, of] = (at ?? "").split("@");
  return one && of === tensor ? one : null;
}

export const asked: ReadonlySignal<Params | null> = computed(() => {
  if (focus.value === null) return null;
  return { id: focus.value, op: op.value, up: up.value, down: down.value, open: opens.value, close: closes.value };
});

export function setDepth(which: "up" | "down", deep: number): void {
  drift({ [which]: deep === DEPTH ? null : Math.min(Math.max(deep, 0), DEEPEST) });
}

/** Opens a closed group, or closes an open one; the address keeps both, since some groups are open from the start. */
export function turn(group: string, isOpen: boolean): void {
  drift({ open: listed(opens.peek(), group, !isOpen), close: listed(closes.peek(), group, isOpen) });
}

/** The list with a name added or removed. */
export function listed(text: string | null, name: string, there: boolean): string | null {
  const others = (text ?? "").split(",").filter((one) => one && one !== name);
  return (there ? [...others, name] : others).join(",") || null;
}

/** A click or Enter on a node: opens a closed group, or focuses an op. */
export function activate(node: GraphNode, part: Pick<Neighbourhood, "groups">): void {
  const group = part.groups.find((one) => one.id === node.id);
  if (group) turn(group.id, group.open);
  else if (node.tensor !== null) setFocus(node.tensor);
  else go({ at: `${node.id}@${focus.peek()}` });
}
