/** Keys in the graph: arrows walk along edges, also beyond the shown part. */
import type { Signal } from "@preact/signals";
import type { Neighbourhood } from "../../api/types";
import type { Laid } from "./layout";
import { activate } from "./state";
import type { Moves } from "./useViewport";
import { type Arrow, walk } from "./walk";

const ARROWS: Record<string, Arrow> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export function press(event: KeyboardEvent, part: Neighbourhood, laid: Laid, cursor: Signal<string>, moves: Moves): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (arrow) step(arrow, part, laid, cursor, moves);
  else if (event.key === "+" || event.key === "=") moves.zoom(1.25);
  else if (event.key === "-") moves.zoom(0.8);
  else if (event.key === "Home" || event.key === "0") moves.refit();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function step(arrow: Arrow, part: Neighbourhood, laid: Laid, cursor: Signal<string>, moves: Moves): void {
  const next = walk(laid, cursor.peek(), arrow);
  if (next === null) return goOn(arrow, part, cursor.peek());
  cursor.value = next;
  moves.reveal(laid.nodes.find((placed) => placed.node.id === next)!);
  nodeOf(moves, next)?.focus({ preventScroll: true });
}

export function nodeOf({ svg }: Moves, id: string): SVGGElement | null {
  return svg.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(id)}"]`) ?? null;
}

/** At the edge of the shown part, centres the graph on that op if there is more. */
function goOn(arrow: Arrow, part: Neighbourhood, id: string): void {
  const here = part.nodes.find((node) => node.id === id);
  if (!here || id === part.focus) return;
  if ((arrow === "up" && here.up) || (arrow === "down" && here.down)) activate(here, part);
}
