import { expect, test } from "vitest";
import { ago, count, many, seconds, shape, short, value, when } from "../src/widgets/format";

test.each([
  [0, "0"],
  [0.03125, "0.03125"],
  [1.5e-7, "1.5e−7"],
  [-87.1499, "−87.15"],
  [1e5, "1e5"],
  [123456.7, "1.235e5"],
  [99999.4, "99999"],
  [12345.6, "12346"],
  [9999.99, "10000"],
  [100, "100"],
  [12.5, "12.5"],
  [null, "–"],
])("the value %s is written %s", (x, text) => expect(value(x)).toBe(text));

test.each([
  [999, "999"],
  [9999, "9,999"],
  [18_900, "18.9k"],
  [20_000, "20k"],
  [999_600, "1M"],
  [1_000_000, "1M"],
  [123_456_789, "123M"],
  [-20_000, "−20k"],
])("the count %s is short for %s", (n, text) => expect(short(n)).toBe(text));

test("counts are grouped", () => expect(count(1234567)).toBe("1,234,567"));
test("one thing is not many", () => expect([many(1, "step"), many(2, "step"), many(0, "step")]).toEqual(["1 step", "2 steps", "0 steps"]));
test("shapes", () => expect([shape([64, 10]), shape([]), shape(null), shape([-1, 3])]).toEqual(["64×10", "scalar", "?", "?×3"]));
test("durations", () => expect([0.00034, 0.0124, 3.2, 250, 7260].map(seconds)).toEqual(["340 µs", "12.4 ms", "3.2 s", "4 min 10 s", "2 h 1 min"]));
test("how long ago", () => expect([5, 300, 7200, 90_000, 200_000, 9_000_000, 94_800_000].map((s) => ago(0, s))).toEqual(["just now", "5 min ago", "2 h ago", "1 day ago", "2 days ago", "3 months ago", "3 years ago"]));

test("a moment says only what there is", () => {
  expect(when({ step: 3, epoch: null, batch: null, iteration: 0 })).toBe("step 3");
  expect(when({ step: 3, epoch: 0, batch: 3, iteration: null })).toBe("step 3, epoch 0, batch 3");
  expect(when({ step: null, epoch: null, batch: null })).toBe("");
  expect(when({ step: -1, epoch: -1, batch: -1, iteration: 2 })).toBe("iteration 2");
});
