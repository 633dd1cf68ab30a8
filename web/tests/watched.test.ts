import { describe, expect, it } from "vitest";
import type { WatchedItem, WatchedSeries } from "../src/api/types";
import { wordsAt } from "../src/panels/watched/Chart";
import { densities, extent, lines, nearest } from "../src/panels/watched/ridge";
import { charts } from "../src/panels/watched/series";

const box = { left: 10, top: 0, width: 100, height: 80 };
const ridge = (step: number, min: number, max: number, bins: number[]) => ({ step, min, max, bins });

describe("ridges", () => {
  const some = [ridge(0, -1, 1, [1, 2, 1, 0]), ridge(5, 0, 2, [0, 0, 8, 0])];
  it("share one axis from the smallest to the largest value", () => {
    expect(extent(some)).toEqual([-1, 2]);
    expect(extent([ridge(0, 3, 3, [4])])).toEqual([2.5, 3.5]);
    const [first, last] = lines(some, box);
    expect(first!.points[0]).toEqual([10, first!.base]);
    expect(last!.points.at(-1)).toEqual([110, last!.base]);
  });
  it("have the highest peak as high as three gaps, and the newest at the bottom", () => {
    const [first, last] = lines(some, box);
    expect(last!.base).toBeCloseTo(80);
    expect(last!.base - Math.min(...last!.points.map(([, y]) => y))).toBeCloseTo(60);
    expect(first!.base - Math.min(...first!.points.map(([, y]) => y))).toBeCloseTo(15);
  });
  it("are drawn by density, so that narrow and wide bins can be compared", () => {
    expect(densities(ridge(0, 0, 1, [2, 2]), 1)).toEqual([4, 4]);
    expect(densities(ridge(0, 0, 4, [2, 2]), 4)).toEqual([1, 1]);
    expect(densities(ridge(0, 3, 3, [0, 6]), 2)).toEqual([0, 6]);
  });
  it("are found by where the pointer is", () => {
    const all = lines(some, box);
    expect(nearest(all, 0)).toBe(0);
    expect(nearest(all, 79)).toBe(1);
    expect(lines([], box)).toEqual([]);
  });
});

describe("charts of a series", () => {
  const item = (kind: WatchedItem["kind"], what: WatchedItem["what"]): WatchedItem => ({ id: "0.1", kind, name: "x", what, looks: 2, file: null, line: null });
  const none = [null, null];
  const series: WatchedSeries = { step: [0, 10], scalar: none, norm: [1, 2], ratio: [0.1, null], mean: [0, 0], min: [-1, -1], max: [1, 1], quantiles: { "0.5": [0, 1] }, ridges: [], images: [], texts: [] };
  const titles = (...of: Parameters<typeof charts>) => charts(...of).map((chart) => chart.title);
  it("are those of what was asked for", () => {
    expect(titles(item("variable", ["norm", "histogram"]), series)).toEqual(["Norm", "Update to weight"]);
    expect(titles(item("gradient", ["norm", "quantiles"]), series)).toEqual(["Norm", "Quantiles"]);
    expect(titles(item("tensor", ["histogram"]), series)).toEqual(["Range"]);
    expect(charts(item("tensor", ["quantiles"]), series)[0]!.columns).toEqual({ "50 %": [0, 1] });
  });
  it("are one for a single number, and none for texts", () => {
    expect(titles(item("point", ["scalar", "norm"]), { ...series, scalar: [2, null] })).toEqual(["Value"]);
    expect(titles(item("point", ["text"]), { ...series, min: none })).toEqual([]);
  });
  it("say what is at a point", () => {
    expect(wordsAt([0, 10], { norm: [1.5, null] }, 0)).toBe("step 0 · 1.5");
    expect(wordsAt([0, 10], { norm: [1.5, null] }, 1)).toBe("step 10 · not finite");
    expect(wordsAt([0], { a: [1], b: [2] }, 0)).toBe("step 0 · a 1 · b 2");
    expect(wordsAt([], { norm: [] }, -1)).toBe("");
  });
});
