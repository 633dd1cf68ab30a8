import { expect, test } from "vitest";
import { arrange } from "../src/layout/arrange";
import type { Panel } from "../src/panels/registry";

const panel = (id: string, region: Panel["region"], row: 0 | 1, compact = false): Panel => ({ id, title: id, component: () => null, region, row, compact });
const PANELS = [
  panel("alerts", "left", 0, true),
  panel("tensors", "left", 1),
  panel("timeline", "middle", 0),
  panel("graph", "middle", 1),
  panel("tensor", "right", 0),
  panel("source", "right", 1),
  panel("stack", "right", 1),
  panel("compare", "whole", 0),
];
const names = (width: number, height: number): string[] => arrange(PANELS, width, height).map((column) => `${column.id}: ${column.boxes.map((box) => box.map((one) => one.id).join("+")).join(" / ")}`);

test("wide: three columns", () => {
  expect(names(1280, 560)).toEqual(["left: alerts / tensors", "middle: timeline / graph", "right: tensor / source+stack"]);
});

test("900 wide: two, where middle and right share tabs", () => {
  expect(names(900, 560)).toEqual(["left: alerts / tensors", "side: tensor+timeline / source+stack+graph"]);
});

test("low: a column's panels become tabs", () => {
  expect(names(1280, 300)).toEqual(["left: alerts / tensors", "middle: timeline+graph", "right: tensor+source+stack"]);
});

test("a phone: one column", () => {
  expect(names(600, 800)).toEqual(["all: alerts / tensors+timeline+graph+tensor+source+stack"]);
});
