/** Positions each op, group and edge of a neighbourhood. Inputs are above their consumers. */
import { Graph, layout as arrange } from "@dagrejs/dagre";
import type { GraphNode, Neighbourhood } from "../../api/types";
import { backPath, edgePath, type Point } from "./paths";
import { shorten } from "../../widgets/shorten";

export interface Box {
  x: number; // of the left top corner
  y: number;
  width: number;
  height: number;
}
export interface PlacedNode extends Box {
  node: GraphNode;
  title: string; // the first line: the op's type, or the group's name
  text: string; // the second
}
export interface PlacedGroup extends Box {
  group: Neighbourhood["groups"][number];
  depth: number;
}
export interface PlacedEdge {
  edge: Neighbourhood["edges"][number];
  path: string;
  key: string;
}
export interface Laid {
  nodes: PlacedNode[];
  groups: PlacedGroup[];
  edges: PlacedEdge[];
  width: number;
  height: number;
}

const LETTER = 6.7; // width of a letter of the monospace face at the size of a node
const MOST = 26; // letters of a line
const NODE = { height: 38, pad: 24, least: 84 };

export function layout(found: Neighbourhood): Laid {
  const part = { ...found, edges: once(found.edges) };
  const graph = new Graph({ compound: true, multigraph: false });
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, edgesep: 12, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  const open = part.groups.filter((group) => group.open && holds(part, group.id));
  for (const group of open) graph.setNode(group.id, {});
  const texts = new Map(part.nodes.map((node) => [node.id, lines(node, part)]));
  for (const node of part.nodes) graph.setNode(node.id, size(texts.get(node.id)!));
  putIntoGroups(graph, part, new Set(open.map((group) => group.id)));
  for (const edge of part.edges) if (drawable(graph, edge) && !edge.back) graph.setEdge(edge.from, edge.to, {});
  arrange(graph);
  return collect(graph, part, open, texts);
}

/** Keeps one edge between two ops: an edge from the previous iteration wins over a plain one. */
function once(edges: Neighbourhood["edges"]): Neighbourhood["edges"] {
  const all = new Map<string, Neighbourhood["edges"][number]>();
  for (const edge of edges) {
    const other = all.get(keyOf(edge));
    all.set(keyOf(edge), { ...edge, bad: edge.bad || (other?.bad ?? false), back: edge.back || (other?.back ?? false) });
  }
  return [...all.values()];
}

const keyOf = ({ from, to }: { from: string; to: string }): string => `${from}>${to}`;

/** Whether the group contains anything, at any depth; an empty one gets no position. */
function holds(part: Neighbourhood, id: string): boolean {
  return part.nodes.some((node) => node.group === id) || part.groups.some((group) => group.parent === id && group.open && holds(part, group.id));
}

function putIntoGroups(graph: Graph, part: Neighbourhood, open: ReadonlySet<string>): void {
  for (const group of part.groups) if (open.has(group.id) && group.parent && open.has(group.parent)) graph.setParent(group.id, group.parent);
  for (const node of part.nodes) if (node.group && node.group !== node.id && open.has(node.group)) graph.setParent(node.id, node.group);
}

const drawable = (graph: Graph, edge: { from: string; to: string }): boolean => edge.from !== edge.to && graph.hasNode(edge.from) && graph.hasNode(edge.to);

/** The text in a node, without a name that only repeats the type. */
export function lines(node: GraphNode, part: Pick<Neighbourhood, "groups">): { title: string; text: string } {
  const group = part.groups.find((one) => one.id === node.id);
  if (group) return { title: shorten(group.name, MOST), text: `${group.kind}, ${group.size} ops` };
  const plain = node.label.replace(/:0$/, "");
  return { title: shorten(node.type, MOST), text: plain === node.type ? "" : shorten(plain, MOST) };
}

function size({ title, text }: { title: string; text: string }): { width: number; height: number } {
  const letters = Math.max(title.length * 1.08, text.length);
  return { width: Math.max(Math.round(letters * LETTER) + NODE.pad, NODE.least), height: NODE.height };
}

function collect(graph: Graph, part: Neighbourhood, open: Neighbourhood["groups"], texts: Map<string, { title: string; text: string }>): Laid {
  const nodes = part.nodes.map((node) => ({ node, ...texts.get(node.id)!, ...box(graph, node.id) }));
  const groups = open.map((group) => ({ group, depth: depth(part, group.id), ...box(graph, group.id) })).sort((one, other) => one.depth - other.depth);
  const edges = part.edges.filter((edge) => drawable(graph, edge)).map((edge) => ({ edge, key: keyOf(edge), path: pathOf(graph, edge) }));
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { nodes, groups, edges, width, height };
}

function box(graph: Graph, id: string): Box {
  const { x, y, width, height } = graph.node(id) as Box;
  return { x: x - width / 2, y: y - height / 2, width, height };
}

function depth(part: Neighbourhood, id: string): number {
  const parent = part.groups.find((group) => group.id === id)?.parent;
  return parent ? depth(part, parent) + 1 : 0;
}

function pathOf(graph: Graph, edge: Neighbourhood["edges"][number]): string {
  const [from, to] = [box(graph, edge.from), box(graph, edge.to)];
  if (edge.back || from.y >= to.y) return backPath(from, to); // a cycle that is no recorded loop also has an edge that goes up
  return edgePath((graph.edge(edge.from, edge.to) as { points: Point[] }).points, from, to);
}
