import { expect, test } from "vitest";
import { arrange, strip } from "../src/layout/arrange";
import type { Panel } from "../src/panels/registry";

const panel = (id: string, region: Panel["region"], row: 0 | 1, compact = false): Panel => ({ id, title: id, component: () => null, region, row, compact });
const PANELS = [
  panel("alerts", "left", 0, true),
  panel("tensors", "left", 1),
  panel("timeline", "strip", 0),
  panel("tensor", "middle", 0),
  panel("graph", "middle", 1),
  panel("source", "right", 0),
  panel("stack", "right", 1),
  panel("compare", "whole", 0),
];
const names = (width: number, height: number): string[] => arrange(PANELS, width, height).map((column) => `${column.id}: ${column.boxes.map((box) => box.map((one) => one.id).join("+")).join(" / ")}`);

test("wide and high: three columns of two boxes below the strip", () => {
  expect(names(1600, 900)).toEqual(["left: alerts / tensors", "middle: tensor / graph", "right: source / stack"]);
  expect(strip(PANELS, 1600, 900).map((panel) => panel.id)).toEqual(["timeline"]);
});

test("1280 by 800 with an open verdict: a column's panels become tabs", () => {
  expect(names(1280, 575)).toEqual(["left: alerts / tensors", "middle: tensor+graph", "right: source+stack"]);
});

test("900 wide: two columns, where middle and right share tabs", () => {
  expect(names(900, 800)).toEqual(["left: alerts / tensors", "side: source+tensor / stack+graph"]);
});

test("low: no strip, its panel is a tab", () => {
  expect(names(1280, 300)).toEqual(["left: alerts / tensors", "middle: timeline+tensor+graph", "right: source+stack"]);
  expect(strip(PANELS, 1280, 300)).toEqual([]);
});

test("a phone: one column", () => {
  expect(names(600, 800)).toEqual(["all: alerts / tensors+timeline+tensor+graph+source+stack"]);
});
