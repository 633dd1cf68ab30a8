import { describe, expect, it } from "vitest";
import type { History, Value } from "../src/api/types";
import { colour, contrast, css, DARK, LIGHT, position, range } from "../src/panels/tensor/colour";
import { cellSize, cellWords, covers, heatSummary } from "../src/panels/tensor/heat";
import { bentSplits, pointOf, pointWords, series, spansPowers, stepAt, stepLabels } from "../src/panels/tensor/series";
import { brackets, firstMatrix, indexOf, matrixAt, taken, unravel } from "../src/panels/tensor/slice";
import { element } from "../src/panels/tensor/ValueGrid";

describe("a slice", () => {
  const index = (text: string, shape: number[], flat: number) => brackets(indexOf(flat, taken(text, shape)!));
  it("leads from a cell back to its index", () => {
    expect(index("", [4, 5], 7)).toBe("[1, 2]");
    expect(index("[0, :, 3:9]", [2, 3, 10], 8)).toBe("[0, 1, 5]");
    expect(index("[-1]", [4, 5], 2)).toBe("[3, 2]");
    expect(index("[..., 1]", [2, 3, 4], 4)).toBe("[1, 1, 1]");
    expect(index("[::2]", [5], 2)).toBe("[4]");
    expect(index("[::-1]", [5], 0)).toBe("[4]");
    expect(index("[3:0:-2]", [5], 1)).toBe("[1]");
    expect(index("[ 1 , 2: ]", [3, 4], 1)).toBe("[1, 3]");
    expect(index("", [], 0)).toBe("[]");
  });
  it("says how long it is, as Python does", () => {
    const length = (text: string) => taken(text, [10])![0]!.length;
    expect([":", "3:9", "-3:", "20:", "5:2", "::3", "9::-4"].map(length)).toEqual([10, 6, 3, 0, 0, 4, 3]);
  });
  it("is not guessed at where it makes no sense", () => {
    for (const text of ["[a]", "[9]", "[0, 0, 0]", "[1.5]", "[::0]", "[..., ...]", "[1 2]"]) expect(taken(text, [4, 5])).toBeNull();
  });
  it("begins with the first matrix, or the one that has a bad element", () => {
    expect(firstMatrix([4, 5])).toBe("");
    expect(firstMatrix([2, 3, 4, 5])).toBe("[0, 0, :, :]");
    expect(unravel(59, [3, 4, 5])).toEqual([2, 3, 4]);
    expect(matrixAt(45, [3, 4, 5])).toBe("[2, :, :]");
    expect(matrixAt(3, [9])).toBe("");
  });
});

describe("the colour scale", () => {
  it("has 0 in the middle where there are both signs", () => {
    const both = range(-1, 4);
    expect(position(0, both)).toBe(0);
    expect(position(4, both)).toBe(1);
    expect(position(-1, both)).toBe(-0.25);
    expect(position(-1, range(-1, 1))).toBe(-1);
  });
  it("spans what there is where all have one sign", () => {
    expect(position(0, range(0, 8))).toBe(0);
    expect(position(100, range(100, 101))).toBe(0);
    expect(position(101, range(100, 101))).toBe(1);
    expect(position(-101, range(-101, -100))).toBe(-1);
    expect(position(5, range(5, 5))).toBe(0);
    expect(position(1, range(null, null))).toBe(0);
  });
  it.each([["dark", DARK], ["light", LIGHT]])("in %s, ends stand out from the middle, and grow with the value", (_, ends) => {
    expect(colour(0, ends)).toEqual(ends.middle);
    for (const sign of [-1, 1]) {
      const steps = [0, 0.25, 0.5, 0.75, 1].map((far) => contrast(colour(sign * far, ends), ends.middle));
      expect(steps).toEqual([...steps].sort((one, other) => one - other));
      expect(steps[4]).toBeGreaterThan(3);
    }
    const [low, high] = [colour(-1, ends), colour(1, ends)];
    expect(Math.abs(low[2] - high[2])).toBeGreaterThan(100); // blue against amber: no kind of colour blindness mixes these up
  });
  it("writes CSS", () => expect(css([1, 2, 3])).toBe("rgb(1 2 3)"));
});

describe("a history", () => {
  const history: History = {
    steps: [0, 1, 2, null], ids: ["0.1", "0.5", "0.9", "0.12"], min: [-1, -2, null, 0], max: [1, 2, null, 4], mean: [0, 0.5, null, 2],
    std: [1, 1, null, 1], nan: [0, 0, 3, 0], inf: [0, 1, 0, 0], zero: [0, 0, 0, 0], elements: [4, 4, 4, 4], total: 4,
  };
  it("marks the points with something bad", () => expect(series(history).bad).toEqual([1, 2]));
  it("is written by steps", () => expect([0, 1, 2, 3, 9].map((at) => stepAt(history, at))).toEqual(["0", "1", "2", "", ""]));
  it("writes a step that goes on once", () => {
    expect(stepLabels({ ...history, steps: [2, 2, 2, 3] }, [0, 1, 2, 3])).toEqual(["step 2", "", "", "3"]);
    expect(stepLabels(history, [3])).toEqual([""]);
  });
  it("has round sizes on a bent axis", () => {
    expect(bentSplits(-1e8, 1e38)).toEqual([-1e8, -1e4, 0, 1e19, 1e38]);
    expect(bentSplits(1, 1e6)).toEqual([1, 1e3, 1e6]);
  });
  it("says a point in words", () => {
    expect(pointWords(history, 1)).toBe("step 1 · 1 ∞ · −2 … 2 · mean 0.5");
    expect(pointWords(history, 2)).toBe("step 2 · 3 NaN");
    expect(pointWords(history, 3)).toBe("point 4 · 0 … 4 · mean 2");
  });
  it("finds the moment in focus", () => {
    expect(pointOf(history, "0.9", 2)).toBe(2);
    expect(pointOf(history, "0.7", 1)).toBe(1);
    expect(pointOf(history, "0.7", null)).toBe(-1);
  });
  it("asks for a logarithmic scale only where sizes explode", () => {
    expect(spansPowers(history)).toBe(false);
    expect(spansPowers({ min: [1, 1, 1], max: [1, 2, 1e20] })).toBe(true);
    expect(spansPowers({ min: [null], max: [0] })).toBe(false);
  });
});

describe("a heat map", () => {
  const heat = { rows: 2, columns: 2, cells: [0.5, null, 2, 3], bad: ".n.+", low: 0.5, high: 3 };
  const value: Value = { shape: [2, 2], of: [3, 2, 2], dtype: "float32", slice: "[1]", begin: 0, end: 4, total: 4, items: [0.5, null, 2, null], texts: { 1: "NaN", 3: "Infinity" }, heat, histogram: null };
  it("says the index in the whole tensor, and the value", () => {
    expect(cellWords(value, heat, 0, 0)).toBe("[1, 0, 0] = 0.5");
    expect(cellWords(value, heat, 0, 1)).toBe("[1, 0, 1] = NaN");
    expect(cellWords(value, heat, 1, 1)).toBe("[1, 1, 1] = +∞");
  });
  it("says what a block covers", () => {
    const large = { ...value, shape: [8, 4], of: [8, 4], slice: "" };
    expect(cellWords(large, heat, 1, 0)).toBe("[4…7, 0…1] mean 2");
    expect(cellWords(large, heat, 0, 1)).toBe("[0…3, 2…3] has NaN");
    expect([0, 1, 2].map((cell) => covers(cell, 3, 10))).toEqual([[0, 2], [3, 5], [6, 9]]);
  });
  it("fits its room", () => {
    expect(cellSize({ ...heat, rows: 128, columns: 128 }, 384)).toEqual({ wide: 3, high: 300 / 128 });
    expect(cellSize(heat, 384)).toEqual({ wide: 22, high: 22 });
  });
  it("is told in a sentence", () => expect(heatSummary(heat, [2, 2])).toBe("Heat map of 2 by 2 values, from 0.5 to 3; 2 cells with NaN or infinity."));
  it("has elements of every dtype", () => {
    const of = (items: Value["items"], texts: Value["texts"] = {}) => items.map((_, at) => element({ items, texts }, at));
    expect(of([1, 0.25, true, "cat"]).map(({ text }) => text)).toEqual(["1", "0.25", "true", "cat"]);
    expect(of([null, null, null], { 0: "NaN", 1: "-Infinity", 2: "(1+2j)" })).toEqual([{ text: "NaN", bad: true }, { text: "−∞", bad: true }, { text: "(1+2j)", bad: false }]);
  });
});
