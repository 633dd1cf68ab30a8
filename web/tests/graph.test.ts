import { describe, expect, it } from "vitest";
import type { GraphNode, Neighbourhood } from "../src/api/types";
import { layout, lines, type Box } from "../src/panels/graph/layout";
import { backPath, edgePath } from "../src/panels/graph/paths";
import { shorten } from "../src/widgets/shorten";
import { depthOf, listed, opAt } from "../src/panels/graph/state";
import { fit, revealing, zoomAt } from "../src/panels/graph/viewport";
import { walk } from "../src/panels/graph/walk";

const node = (id: string, more: Partial<GraphNode> = {}): GraphNode => ({
  id, tensor: `0.${id}`, type: "Mul", name: id, label: id, group: null, bad: false, seen: true, onPath: null, gradient: false, place: null, up: false, down: false, ...more,
});
const edge = (from: string, to: string, back = false) => ({ from, to, bad: false, back });
const group = (id: string, parent: string | null = null, open = true) => ({ id, name: id, kind: "layer" as const, parent, open, size: 3, bad: false });
const part = (nodes: GraphNode[], edges: Neighbourhood["edges"], groups: Neighbourhood["groups"] = []): Neighbourhood => ({ focus: nodes[0]!.id, nodes, edges, groups, more: 0 });

const inside = (inner: Box, outer: Box) =>
  inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;

describe("the layout", () => {
  const laid = layout(part([node("a"), node("b"), node("c"), node("d")], [edge("a", "c"), edge("b", "c"), edge("c", "d"), edge("d", "a", true)]));
  const box = (id: string) => laid.nodes.find((placed) => placed.node.id === id)!;
  it("puts inputs above what takes them", () => {
    expect(box("a").y).toBe(box("b").y);
    expect(box("a").y + box("a").height).toBeLessThan(box("c").y);
    expect(box("c").y + box("c").height).toBeLessThan(box("d").y);
  });
  it("lets no two overlap", () => expect(box("a").x + box("a").width <= box("b").x || box("b").x + box("b").width <= box("a").x).toBe(true));
  it("draws the next iteration as a curve, which does not turn ranks around", () => {
    expect(box("a").y).toBeLessThan(box("d").y);
    expect(laid.edges.find((one) => one.key === "d>a")!.path).toMatch(/^M[\d.,]+C/);
  });
  it("draws an edge once, as the next iteration where it is that", () => {
    const ring = layout(part([node("a"), node("b")], [edge("a", "b"), edge("b", "a", true), edge("b", "a")]));
    expect(ring.edges.map(({ key, edge: { back } }) => [key, back])).toEqual([["a>b", false], ["b>a", true]]);
    expect(layout(part([node("a"), node("b")], [edge("a", "b"), edge("b", "a")])).edges).toHaveLength(2);
  });
  it("puts members into their groups, groups into groups", () => {
    const nested = layout(part([node("a"), node("b", { group: "in" }), node("c", { group: "in" })], [edge("a", "b"), edge("b", "c")], [group("out"), group("in", "out"), group("empty")]));
    const [out, inner] = nested.groups;
    expect(nested.groups.map((placed) => placed.group.id)).toEqual(["out", "in"]);
    expect(inside(inner!, out!)).toBe(true);
    for (const id of ["b", "c"]) expect(inside(nested.nodes.find((placed) => placed.node.id === id)!, inner!)).toBe(true);
  });
  it("leaves out edges to what is not shown", () => expect(layout(part([node("a")], [edge("a", "gone"), edge("a", "a")])).edges).toEqual([]));
  it("arranges hundreds in time", () => {
    const many = Array.from({ length: 200 }, (_, at) => node(`n${at}`));
    const edges = many.slice(1).map((one, at) => edge(`n${Math.floor(at / 2)}`, one.id));
    expect(layout(part(many, edges)).nodes).toHaveLength(200);
  });
  it("writes what a closed group holds", () => {
    expect(lines(node("g", { group: null }), { groups: [group("g", null, false)] })).toEqual({ title: "g", text: "layer, 3 ops" });
    expect(lines(node("x", { label: "Mul:0" }), { groups: [] })).toEqual({ title: "Mul", text: "" });
  });
});

describe("paths", () => {
  const upper = { x: 0, y: 0, width: 100, height: 40 };
  const lower = { x: 200, y: 100, width: 100, height: 40 };
  it("go from the lower side of one to the upper side of the other", () => {
    const path = edgePath([{ x: 60, y: 40 }, { x: 150, y: 70 }, { x: 240, y: 100 }], upper, lower);
    expect(path).toBe("M60,40Q150,70 240,100");
    expect(edgePath([{ x: 60, y: 40 }, { x: 240, y: 100 }], upper, lower)).toBe("M60,40C60,70 240,70 240,100");
    expect(edgePath([{ x: 60, y: 40 }, { x: 90, y: 60 }, { x: 190, y: 80 }, { x: 240, y: 100 }], upper, lower)).toBe("M60,40Q90,60 140,70Q190,80 240,100");
  });
  it("of a loop swing out to the right", () => {
    const [begin, out] = backPath(lower, upper).match(/-?[\d.]+/g)!.map(Number).filter((_, at) => at % 2 === 0);
    expect(begin).toBe(300);
    expect(out).toBeGreaterThan(300);
  });
});

describe("walking", () => {
  const laid = layout(part([node("a"), node("b", { bad: true }), node("c"), node("d")], [edge("a", "c"), edge("b", "c"), edge("c", "d")]));
  it("follows edges, the bad one first", () => {
    expect(walk(laid, "c", "up")).toBe("b");
    expect(walk(laid, "c", "down")).toBe("d");
    expect(walk(laid, "d", "down")).toBeNull();
    expect(walk(laid, "gone", "up")).toBeNull();
  });
  it("goes sideways among those of the same rank", () => {
    const [left, right] = laid.nodes.filter((placed) => "ab".includes(placed.node.id)).sort((one, other) => one.x - other.x).map((placed) => placed.node.id);
    expect(walk(laid, left!, "right")).toBe(right);
    expect(walk(laid, right!, "left")).toBe(left);
    expect(walk(laid, left!, "left")).toBeNull();
  });
});

describe("the viewport", () => {
  const screen = { width: 400, height: 300 };
  it("shows all where that is legible, else what is in focus", () => {
    expect(fit(screen, { width: 200, height: 100 }, null)).toEqual({ k: 1, x: 100, y: 100 });
    const close = fit(screen, { width: 9000, height: 3000 }, { x: 4000, y: 1000, width: 100, height: 40 });
    expect(close.k).toBeGreaterThan(0.6);
    expect(4050 * close.k + close.x).toBeCloseTo(200);
  });
  it("zooms at the pointer", () => {
    const after = zoomAt({ x: 10, y: 20, k: 1 }, 110, 120, 2);
    expect((110 - after.x) / after.k).toBeCloseTo(100);
    expect(zoomAt(after, 0, 0, 1000).k).toBeLessThan(3);
  });
  it("moves only as far as it must", () => {
    const view = { x: 0, y: 0, k: 1 };
    expect(revealing(view, screen, { x: 100, y: 100, width: 50, height: 40 })).toEqual(view);
    expect(revealing(view, screen, { x: 500, y: 100, width: 50, height: 40 })).toEqual({ x: -166, y: 0, k: 1 });
  });
});

describe("long names", () => {
  it("are cut in the middle", () => {
    expect(shorten("model/dense/MatMul", 40)).toBe("model/dense/MatMul");
    const cut = shorten("model/encoder/block_12/attention/query/MatMul", 20);
    expect(cut).toHaveLength(20);
    expect(cut.startsWith("model/")).toBe(true);
    expect(cut.endsWith("query/MatMul")).toBe(true);
  });
});

describe("what the graph is asked for", () => {
  it("is a depth within bounds", () => expect([null, "0", "5", "99", "x", "-1"].map(depthOf)).toEqual([2, 0, 5, 8, 2, 2]));
  it("remembers what was opened and closed", () => {
    expect(listed(null, "f0.1", true)).toBe("f0.1");
    expect(listed("f0.1,l0.2", "f0.1", false)).toBe("l0.2");
    expect(listed("f0.1", "f0.1", true)).toBe("f0.1");
    expect(listed("f0.1", "f0.1", false)).toBeNull();
  });
  it("is around an op without a row only while the same tensor is in focus", () => {
    expect(opAt("0.4@0.17", "0.17")).toBe("0.4");
    expect(opAt("0.4@0.17", "0.18")).toBeNull();
    expect(opAt(null, "0.18")).toBeNull();
  });
});
