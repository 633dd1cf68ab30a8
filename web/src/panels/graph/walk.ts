/** Arrow keys in the graph: up to inputs, down to consumers, sideways to neighbours of the same rank. */
import type { Laid, PlacedNode } from "./layout";

export type Arrow = "up" | "down" | "left" | "right";

/** The node in that direction, or null. */
export function walk(laid: Laid, from: string, arrow: Arrow): string | null {
  const start = laid.nodes.find((placed) => placed.node.id === from);
  if (!start) return null;
  const candidates = arrow === "up" || arrow === "down" ? alongEdges(laid, from, arrow) : sideways(laid, start, arrow);
  return best(start, candidates)?.node.id ?? null;
}

function alongEdges(laid: Laid, from: string, arrow: "up" | "down"): PlacedNode[] {
  const near = laid.edges.filter(({ edge }) => !edge.back && (arrow === "up" ? edge.to : edge.from) === from);
  const ids = new Set(near.map(({ edge }) => (arrow === "up" ? edge.from : edge.to)));
  const found = laid.nodes.filter((placed) => ids.has(placed.node.id));
  const bad = found.filter((placed) => placed.node.bad || placed.node.onPath !== null);
  return bad.length ? bad : found;
}

function sideways(laid: Laid, start: PlacedNode, arrow: "left" | "right"): PlacedNode[] {
  const beside = (placed: PlacedNode): boolean => Math.abs(middle(placed).y - middle(start).y) < start.height / 2 + 4;
  const side = (placed: PlacedNode): boolean => (arrow === "left" ? placed.x < start.x : placed.x > start.x);
  return laid.nodes.filter((placed) => placed !== start && beside(placed) && side(placed));
}

function best(start: PlacedNode, all: PlacedNode[]): PlacedNode | undefined {
  const away = (placed: PlacedNode): number => Math.hypot(middle(placed).x - middle(start).x, middle(placed).y - middle(start).y);
  return all.sort((one, other) => away(one) - away(other))[0];
}

const middle = ({ x, y, width, height }: PlacedNode): { x: number; y: number } => ({ x: x + width / 2, y: y + height / 2 });
