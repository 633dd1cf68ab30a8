import { expect, test } from "vitest";
import { columnsFor } from "../src/panels/tensors/columns";
import { aRun } from "./fixtures/run";

const names = (width: number, change = {}): string => columnsFor(width, aRun(change)).map((column) => column.id).join(" ");

test("the less room, the fewer columns", () => {
  expect(names(300)).toBe("number step op health");
  expect(names(460)).toBe("number step op where health");
  expect(names(700)).toBe("number step op name layer shape health");
  expect(names(1200)).toBe("number step op name layer dtype shape health min mean max line");
});

test("a program without layers has names; a run without values, shapes", () => {
  expect(names(700, { layers: [] })).toBe("number step op name shape health");
  expect(names(460, { records: { health: false, counts: false, range: false, shapes: true, values: false } })).toBe("number step op where shape");
});
