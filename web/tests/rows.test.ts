import { expect, test } from "vitest";
import { scrollTo, sight } from "../src/widgets/rows";

const ROW = 24;
const ROOM = 480;

test("a short list is as high as its rows", () => {
  expect(sight(0, ROOM, 10, ROW)).toEqual({ begin: 0, end: 10, height: 240, top: 0 });
});

test("only rows in sight are drawn, with some above and below", () => {
  const seen = sight(2400, ROOM, 10_000, ROW);
  expect(seen).toMatchObject({ begin: 92, end: 128, height: 240_000 });
  expect(seen.top).toBe(92 * ROW);
});

test.each([1_000_000, 50_000_000])("the last of %s rows can be reached, in an element that a browser can draw", (count) => {
  const { height } = sight(0, ROOM, count, ROW);
  expect(height).toBeLessThanOrEqual(17_000_000);
  const end = sight(height - ROOM, ROOM, count, ROW);
  expect(end.end).toBe(count);
  expect(end.top + (count - end.begin) * ROW).toBeCloseTo(height, 0); // its lower edge is the element's
});

test.each([0, 17, 499_999, 999_999])("row %s of 1,000,000 comes into sight", (index) => {
  const top = scrollTo(index, 0, ROOM, 1_000_000, ROW);
  const seen = sight(top, ROOM, 1_000_000, ROW);
  const y = seen.top + (index - seen.begin) * ROW - top;
  expect(y).toBeGreaterThanOrEqual(-0.01);
  expect(y).toBeLessThanOrEqual(ROOM - ROW + 0.01);
});

test("a row that is in sight moves nothing; a step by key moves by one row", () => {
  expect(scrollTo(5, 0, ROOM, 1000, ROW)).toBe(0);
  expect(scrollTo(20, 0, ROOM, 1000, ROW, true)).toBe(ROW);
  expect(scrollTo(9, 240, ROOM, 1000, ROW, true)).toBe(216);
});
