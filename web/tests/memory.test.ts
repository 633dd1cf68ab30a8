import { afterEach, describe, expect, it } from "vitest";
import type { Memory, MemoryMoment } from "../src/api/memory";
import { ceiling, floor, limitInSight, pointAt, present, tops } from "../src/panels/memory/stacked";
import { addUpBy, by, chosen, curveParams, momentParams, near, showMoment, shown, showProcess } from "../src/panels/memory/state";
import { caveat, parts, pointWords, summary, title } from "../src/panels/memory/words";
import { bytes } from "../src/widgets/format";
import { arrive } from "./fixtures/server";

const MB = 1e6;
const memory: Memory = {
  process: 0, processes: [{ number: 0, name: "process 7", peak: 900 * MB }], part: null, limit: null, start: 500 * MB, peak: 900 * MB, at: 2, lost: 0,
  seconds: [0, 1, 2, 30], steps: [null, 0, 1, 2], resident: [500 * MB, 700 * MB, 900 * MB, 800 * MB],
  kinds: [{ kind: "weights", bytes: [0, 100 * MB, 100 * MB, null] }, { kind: "gradients", bytes: [0, 0, 50 * MB, null] }, { kind: "inputs", bytes: [0, 0, 0, null] }],
  marks: [],
};
const moment: MemoryMoment = {
  seconds: 2, step: 1, peak: true, known: true, resident: 900 * MB, running: ["Conv2D", "Mul", "Add"], by: "kind", groups: [], moreGroups: 0, tensors: [], total: 0, bytes: 0,
  growth: { bytes: 400 * MB, tensors: 150 * MB, kept: 200 * MB, own: 0, working: 30 * MB, rest: 20 * MB, explained: 0.95 },
};
const far = { ...memory, part: { from: 1, to: 3, rows: 40_000, of: 650_000 } };

afterEach(() => {
  arrive("");
  showProcess(0);
  arrive("");
});

describe("the columns of the chart", () => {
  it("stand on each other, and are gaps where tensors were not looked at", () => {
    expect(tops(memory.kinds)).toEqual([[0, 100 * MB, 100 * MB, null], [0, 100 * MB, 150 * MB, null], [0, 100 * MB, 150 * MB, null]]);
    expect(present(memory.kinds)).toEqual(["weights", "gradients"]);
    expect([pointAt(memory.seconds, 1.4), pointAt(memory.seconds, 99)]).toEqual([1, 3]);
  });
  it("begin with the least that was resident, unless tensors are more than what grew", () => {
    expect(floor(memory)).toBe(500 * MB);
    expect(floor({ ...memory, kinds: [{ kind: "weights", bytes: [300 * MB, 300 * MB, 300 * MB, 300 * MB] }] })).toBe(0);
  });
  it("have the limit in sight where it is near", () => {
    expect(limitInSight({ ...memory, limit: 1000 * MB })).toBe(true);
    expect(ceiling({ ...memory, limit: 1000 * MB })).toBeGreaterThan(1000 * MB);
    expect(limitInSight({ ...memory, limit: 64_000 * MB })).toBe(false);
    expect(ceiling({ ...memory, limit: 64_000 * MB })).toBeLessThan(1000 * MB);
  });
});

describe("in words", () => {
  it("tells the whole, a point, a moment", () => {
    expect(summary({ ...memory, limit: 1000 * MB })).toBe("Resident memory over 30.0 s: 500 MB when recording began, 900 MB at most. The peak is at 2.00 s. The limit is 1 GB.");
    expect(pointWords(memory, 2)).toBe("at 2.00 s, step 1: 900 MB resident, 150 MB in tensors");
    expect(pointWords(memory, 3)).toContain("tensors were not recorded");
    expect(title(moment)).toBe("At 2.00 s, step 1, the peak");
  });
  it("has parts that add up to the growth, and names what was running", () => {
    expect(parts(moment).reduce((sum, part) => sum + part.bytes, 0)).toBe(400 * MB);
    expect(parts(moment)[3]!.words).toBe("in use by ops that were running: Conv2D, Mul");
  });
  it("says what was not looked at", () => {
    expect(caveat(memory)).toBeNull();
    expect(caveat(far)).toContain("from 1.00 s to 3.00 s only: 40,000 of 650,000 rows");
    expect(caveat({ ...memory, lost: 3 })).toContain("3 older rows were written over");
  });
  it("writes amounts as the terminal does", () => {
    expect([0, 999, 1000, 8_388_608, 9_960_000, 999_600, 962_605_056, 1.7e12, -5e6].map(bytes)).toEqual(["0 B", "999 B", "1 kB", "8.4 MB", "10 MB", "1 MB", "963 MB", "1.7 TB", "−5 MB"]);
  });
});

describe("what is asked for", () => {
  it("is the peak by kind, as an exported page has it, until something is chosen", () => {
    expect(curveParams()).toEqual({ process: null, near: null, points: 800 });
    expect(momentParams()).toEqual({ process: null, near: null, at: null, by: "kind" });
    showMoment(1.5);
    addUpBy("line");
    expect([chosen.value, by.value]).toEqual([1.5, "line"]);
    expect(location.hash).toContain("at=1.5&by=line");
  });
  it("moves the part that is looked at only when the moment is outside of it", () => {
    shown.value = far;
    showMoment(2.5);
    expect(near.value).toBeNull();
    showMoment(20);
    expect(near.value).toBe(20);
    shown.value = { ...far, part: { ...far.part, from: 15, to: 25 } };
    showMoment(22);
    expect(near.value).toBe(20);
    showMoment(null);
    expect(near.value).toBeNull();
  });
});
