import { describe, expect, it } from "vitest";
import { binAt, columns, merged, nearestBin, type Lane } from "../src/panels/timeline/bins";
import { rowAt, rows } from "../src/panels/timeline/rows";
import { bins, clipped, late, setView, showSteps, view } from "../src/panels/timeline/state";
import { afterFirst, bands, epochs, numbered, type Band } from "../src/panels/timeline/steps";
import { duration, isWhole, pan, roundStep, showing, ticks, toTime, toX, within, zoom } from "../src/panels/timeline/view";

const whole = { from: 0, to: 10 };
const lane = (id: string, count: number[], bad: number[] = count.map(() => 0), kind: Lane["kind"] = "thread"): Lane => ({
  id, name: id, kind, count, bad, first: count.map((many, bin) => (many ? `${id}.${bin}` : null)),
});

describe("the view", () => {
  it("zooms at the pointer: the time under it stays", () => {
    const near = zoom(whole, whole, 2, 0.5);
    expect(near).toEqual({ from: 1, to: 6 });
    expect(toX(near, 100, 2)).toBeCloseTo(toX(whole, 100, 2));
  });
  it("never leaves the run", () => {
    expect(pan({ from: 1, to: 3 }, whole, -5)).toEqual({ from: 0, to: 2 });
    expect(pan({ from: 1, to: 3 }, whole, Infinity)).toEqual({ from: 8, to: 10 });
    expect(pan({ from: 1, to: 3 }, whole, 50)).toEqual({ from: 8, to: 10 });
    expect(isWhole(zoom({ from: 4, to: 6 }, whole, 5, 100), whole)).toBe(true);
    expect(within({ from: -3, to: 30 }, whole)).toEqual(whole);
  });
  it("is whole again after zooming in and out", () => {
    let view = whole;
    for (const factor of [0.7, 0.7, 0.7, 1 / 0.7, 1 / 0.7, 1 / 0.7]) view = zoom(view, whole, 3.3, factor);
    expect(isWhole(view, whole)).toBe(true);
    expect(isWhole({ from: 0.1, to: 10 }, whole)).toBe(false);
  });
  it("does not zoom in for ever", () => {
    let view = whole;
    for (let turn = 0; turn < 200; turn++) view = zoom(view, whole, 5, 0.5);
    expect(view.to - view.from).toBeGreaterThan(0.9e-6);
    expect(view.from).toBeLessThanOrEqual(5);
    expect(view.to).toBeGreaterThanOrEqual(5);
  });
  it("moves to show a moment, and only then", () => {
    const view = { from: 1, to: 3 };
    expect(showing(view, whole, 2)).toBe(view);
    expect(showing(view, whole, 8)).toEqual({ from: 7, to: 9 });
  });
  it("turns pixels into time and back", () => expect(toX(whole, 640, toTime(whole, 640, 123))).toBeCloseTo(123));
  it("copes with a run of no length", () => expect(within({ from: 3, to: 3 }, { from: 3, to: 3 })).toEqual({ from: 3, to: 3 + 1e-6 }));
});

describe("the axis", () => {
  it("has round times", () => {
    expect(ticks({ from: 0.13, to: 1.01 }, 5).map((time) => time.toFixed(1))).toEqual(["0.2", "0.4", "0.6", "0.8", "1.0"]);
    expect([0.3, 1, 1.2, 4, 7].map(roundStep)).toEqual([0.5, 1, 2, 5, 10]);
  });
  it("writes them with the digits that tell them apart", () => {
    expect(duration(1.5, 0.5)).toBe("1.5 s");
    expect(duration(2, 0.5)).toBe("2.0 s");
    expect(duration(0.00034)).toBe("340 µs");
    expect(duration(1.2)).toBe("1.2 s");
    expect(duration(0)).toBe("0 s");
  });
});

describe("bins", () => {
  it("are merged where there are more of them than columns; nothing is lost", () => {
    const all = columns(lane("a", [1, 2, 3, 4], [0, 0, 1, 0]), whole, whole, 2);
    expect([...all.count]).toEqual([3, 7]);
    expect([...all.bad]).toEqual([0, 1]);
    expect(all.most).toBe(7);
  });
  it("are stretched where the view is closer than they are", () => {
    const all = columns(lane("a", [8, 0], [1, 0]), whole, { from: 0, to: 5 }, 4);
    expect([...all.count]).toEqual([2, 2, 2, 2]);
    expect([...all.bad]).toEqual([1, 1, 1, 1]);
  });
  it("show only the part on screen", () => {
    const all = columns(lane("a", [5, 0, 0, 7]), whole, { from: 7.5, to: 10 }, 1);
    expect([...all.count]).toEqual([7]);
  });
  it("add up when many of them are drawn on few columns that do not divide them", () => {
    const all = columns(lane("a", new Array<number>(10_007).fill(1)), whole, whole, 997);
    expect(all.count.reduce((total, count) => total + count, 0)).toBeCloseTo(10_007, 3);
  });
  it("of a closed group are the sum, and lead to the first bad one", () => {
    const one = merged([lane("a", [1, 0], [0, 0]), lane("b", [1, 2], [1, 0])], "threads", "2 threads");
    expect(one.count).toEqual([2, 2]);
    expect(one.bad).toEqual([1, 0]);
    expect(one.first).toEqual(["b.0", "b.1"]);
  });
  it("are found by time, and by a pointer that is a little off", () => {
    expect(binAt(whole, 5, 4)).toBe(2);
    expect(binAt(whole, 5, 10)).toBe(4);
    expect(binAt(whole, 5, 11)).toBe(-1);
    const one = lane("a", [0, 3, 0, 1, 0], [0, 0, 0, 1, 0]);
    expect(nearestBin(one, 2, 1)).toBe(3); // the bad one, though the other is as near
    expect(nearestBin(one, 0, 1)).toBe(1);
    expect(nearestBin(lane("a", [1, 0, 0, 0]), 3, 2)).toBe(-1);
  });
});

describe("rows", () => {
  const many = Array.from({ length: 9 }, (_, at) => lane(`t${at}`, [at]));
  it("fold many lanes of a kind into one, which opens", () => {
    const closed = rows([...many, lane("w", [1], [0], "worker")], new Set(), 20);
    expect(closed.map((row) => row.name)).toEqual(["w", "9 threads"]);
    expect(closed[1]!.lane.count).toEqual([36]);
    const open = rows(many, new Set(["threads"]), 20);
    expect(open).toHaveLength(10);
    expect(open[1]).toMatchObject({ id: "t0", depth: 1, top: 20 });
    expect(rowAt(open, 45)!.id).toBe("t1");
    expect(rowAt(open, 900)).toBeNull();
  });
  it("leave a few as they are", () => expect(rows(many.slice(0, 3), new Set(), 20)).toHaveLength(3));
});

describe("steps", () => {
  const steps = Array.from({ length: 10 }, (_, step) => ({ step, epoch: step < 4 ? 0 : 1, from: step, to: step + 0.9, bad: step === 7, name: "fit" }));
  const drawn = bands({ ...whole, steps, stepBins: null }, whole, 1000);
  const traced = steps.map((one, at) => ({ ...one, from: at ? 8 + at / 10 : 0, to: at ? 8.05 + at / 10 : 8, bad: false }));
  const run = { ...whole, begin: 0, end: 10, steps: traced, stepBins: null, lanes: [] };
  it("leave out a first one that takes most of the run, unless it is bad, or all there is", () => {
    expect(afterFirst(run)).toBe(8.1);
    expect(afterFirst({ ...run, steps })).toBeNull();
    expect(afterFirst({ ...run, steps: traced.slice(0, 3) })).toBeNull();
    expect(afterFirst({ ...run, steps: [{ ...traced[0]!, bad: true }, ...traced.slice(1)] })).toBeNull();
    expect(afterFirst({ ...run, from: 5 })).toBeNull(); // only of an answer about the whole run
  });
  it("show all when all is asked for, and again only the others", () => {
    bins.value = run;
    late.value = 8.1;
    expect([view.value, clipped.value]).toEqual([{ from: 8.1, to: 10 }, true]);
    setView(null);
    expect([view.value, clipped.value]).toEqual([whole, false]);
    showSteps();
    setView({ from: 1, to: 2 });
    expect([view.value, clipped.value]).toEqual([{ from: 1, to: 2 }, false]);
    showSteps();
    expect(clipped.value).toBe(true);
    late.value = bins.value = null;
  });
  it("are bands", () => {
    expect(drawn).toHaveLength(10);
    expect(drawn[7]).toMatchObject({ left: 700, right: 790, first: 7, bad: true });
    expect(bands({ ...whole, steps, stepBins: null }, { from: 2.5, to: 4.5 }, 100).map((band) => band.first)).toEqual([2, 3, 4]);
  });
  it("carry round numbers that do not touch", () => {
    expect(numbered(drawn, 50).map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(numbered(drawn, 300).map(({ step }) => step)).toEqual([0, 5]);
    expect(numbered([], 50)).toEqual([]);
  });
  it("are stretches where there are too many", () => {
    const stepBins = { first: [0, 100, null, 300], last: [99, 199, null, 399], bad: [false, true, false, false] };
    const all = bands({ ...whole, steps: [], stepBins }, whole, 400);
    expect(all.map((band: Band) => [band.left, band.first, band.last, band.bad])).toEqual([[0, 0, 99, false], [100, 100, 199, true], [300, 300, 399, false]]);
    expect(numbered(all, 90).map(({ step }) => step)).toEqual([0, 100, 300]);
  });
  it("tell where an epoch begins", () => expect(epochs(drawn)).toEqual([{ x: 0, epoch: 0 }, { x: 400, epoch: 1 }]));
});
