import { afterEach, describe, expect, it } from "vitest";
import type { Flame, FlameBar } from "../src/api/types";
import { key } from "../src/panels/flame/input";
import { AXIS, barAt, boxes, GAP, ROW, tops } from "../src/panels/flame/layout";
import { chosen, setView, shown, showStep, view, whole } from "../src/panels/flame/state";
import { percent, summary, sums, told } from "../src/panels/flame/words";

const bar = (name: string, from: number, to: number, more: Partial<FlameBar> = {}): FlameBar => ({
  lane: 1, depth: 1, kind: "op", name, from, to, op: null, place: "model.py:7", layer: null, tensor: `0.${name}`, ...more,
});
const flame: Flame = {
  step: 3, previous: 2, next: 4, slowest: [{ step: 0, seconds: 2, first: true }], from: 5, to: 6, leftOut: 0,
  split: [{ part: "input", words: "waiting for input", seconds: 0.6, share: 0.6 }, { part: "ops", words: "ops in functions", seconds: 0.4, share: 0.4 }],
  lanes: [{ name: "Python", depth: 1 }, { name: "thread 2", depth: 2 }],
  bars: [
    bar("train", 0, 1, { lane: 0, depth: 0, kind: "call", tensor: null }),
    bar("MatMul", 0.1, 0.4), bar("Add", 0.4, 0.4001), bar("MatMul", 0.6, 0.9, { tensor: "0.9" }), bar("Add", 0.9, 1, { place: "model.py:8" }),
  ],
};
const press = (name: string): boolean => key(new KeyboardEvent("keydown", { key: name }));

afterEach(() => {
  setView(null);
  shown.value = null;
  showStep(null);
});

describe("where bars stand", () => {
  it("has a lane below the other, as high as its bars are deep", () => {
    expect(tops(flame.lanes)).toEqual([AXIS + 2, AXIS + 2 + ROW + GAP, AXIS + 2 + 3 * ROW + 2 * GAP]);
  });
  it("draws what is in sight, at least a pixel wide", () => {
    const seen = boxes(flame, { from: 0.35, to: 0.55 }, 100);
    expect(seen.map((box) => box.bar.name)).toEqual(["train", "MatMul", "Add"]);
    expect(seen[2]!.width).toBe(1);
    expect(seen[1]!.left).toBeCloseTo(-125);
  });
  it("finds the bar under the pointer, and a thin one beside it", () => {
    const all = boxes(flame, { from: 0, to: 1 }, 1000);
    const row = tops(flame.lanes)[1]! + ROW + 3;
    expect(barAt(all, 200, row)?.from).toBe(0.1);
    expect(barAt(all, 402, row)?.name).toBe("Add");
    expect(barAt(all, 500, row)).toBeNull();
    expect(barAt(all, 500, AXIS + 5)?.name).toBe("train");
  });
});

describe("in words", () => {
  it("says what a bar is, how long it took and where it is", () => {
    expect(told(flame.bars[1]!, 1)).toEqual(["MatMul", "300 ms, 30 % of the step", "model.py:7"]);
    expect(told(bar("IteratorGetNext", 0, 0.001, { kind: "input", place: null }), 1)[0]).toBe("IteratorGetNext · waits for the next batch");
  });
  it("sums up ops of one line, the most time first, led by the longest", () => {
    expect(sums(flame.bars).map((sum) => [sum.name, sum.place, sum.runs])).toEqual([["MatMul", "model.py:7", 2], ["Add", "model.py:8", 1], ["Add", "model.py:7", 1]]);
    expect(sums(flame.bars)[0]!.seconds).toBeCloseTo(0.6);
  });
  it("tells the whole in a sentence, the largest part first", () => {
    expect(summary(flame)).toBe("Flame chart of step 3, 1 s: 2 threads, 5 bars. 60 % waiting for input, 40 % ops in functions.");
    expect([percent(0), percent(0.001), percent(0.256)]).toEqual(["0 %", "<1 %", "26 %"]);
  });
});

describe("the step on screen", () => {
  it("zooms and pans by key, and shows all again", () => {
    shown.value = flame;
    expect(whole.value).toEqual({ from: 0, to: 1 });
    expect(press("+")).toBe(true);
    expect(view.value.to - view.value.from).toBeCloseTo(0.8);
    press("ArrowLeft");
    expect(view.value.from).toBeLessThan(0.1);
    press("Home");
    expect(view.value).toEqual(whole.value);
    expect(press("x")).toBe(false);
  });
  it("is in the address", () => {
    showStep(4);
    expect(chosen.value).toBe(4);
    expect(location.hash).toContain("timed=4");
    showStep(null);
    expect(chosen.value).toBeNull();
  });
});
