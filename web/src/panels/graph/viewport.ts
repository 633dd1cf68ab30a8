/** The visible part of the drawing: scaled by k, then moved by (x, y). */
import type { Box } from "./layout";

export interface Viewport {
  x: number;
  y: number;
  k: number;
}
interface Size {
  width: number;
  height: number;
}

interface Drawn extends Size {
  nodes: (Box & { node: { id: string } })[];
}

const LEAST = 0.15;
const MOST = 2.5;
const LEGIBLE = 0.62; // below this scale names are illegible, so show less instead

/** All of it if that stays legible, else the part around the focus. */
export function fit(screen: Size, drawing: Size, focus: Box | null): Viewport {
  const all = Math.min(screen.width / Math.max(drawing.width, 1), screen.height / Math.max(drawing.height, 1), 1);
  if (all >= LEGIBLE || focus === null) return centred(screen, { x: 0, y: 0, ...drawing }, Math.max(all, LEAST));
  return centred(screen, focus, LEGIBLE + 0.18);
}

function centred(screen: Size, box: Box, k: number): Viewport {
  return { k, x: screen.width / 2 - (box.x + box.width / 2) * k, y: screen.height / 2 - (box.y + box.height / 2) * k };
}

/** Scales so that the point (x, y) of the screen stays in place. */
export function zoomAt(view: Viewport, x: number, y: number, factor: number): Viewport {
  const k = Math.min(Math.max(view.k * factor, LEAST), MOST);
  return { k, x: x - ((x - view.x) / view.k) * k, y: y - ((y - view.y) / view.k) * k };
}

/** Moves as little as possible to bring the box on screen. */
export function revealing(view: Viewport, screen: Size, box: Box, margin = 16): Viewport {
  return { k: view.k, x: along(view.x, view.k, screen.width, box.x, box.width, margin), y: along(view.y, view.k, screen.height, box.y, box.height, margin) };
}

function along(moved: number, k: number, room: number, begin: number, length: number, margin: number): number {
  const low = begin * k + moved;
  const high = low + length * k;
  if (low < margin) return moved + margin - low;
  return high > room - margin ? moved - (high - room + margin) : moved;
}

export const transform = ({ x, y, k }: Viewport): string => `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${k.toFixed(4)})`;

/** After a change of the drawing, keeps the focus in place on screen. */
export function follow(view: Viewport, old: Drawn, now: Drawn, focus: string, screen: Size): Viewport {
  const find = (drawn: Drawn): Box | undefined => drawn.nodes.find((placed) => placed.node.id === focus);
  const [from, to] = [find(old), find(now)];
  if (!from || !to) return fit(screen, now, to ?? null);
  return { k: view.k, x: view.x + (from.x + from.width / 2 - to.x - to.width / 2) * view.k, y: view.y + (from.y - to.y) * view.k };
}
