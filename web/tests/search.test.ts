import { beforeEach, expect, test } from "vitest";
import { found } from "../src/layout/found";
import { part } from "../src/state/address";
import { aRow, aRun } from "./fixtures/run";
import { arrive } from "./fixtures/server";

const names = (text: string): string[] => found(text, aRun(), []).map((hit) => `${hit.kind} ${hit.name}`);

beforeEach(() => arrive("run=r&health=nan"));

test("layers, ops and files by a part of their name, the best first", () => {
  expect(names("log")).toEqual(["op Log", "op Log1p"]);
  expect(names("hidden")).toEqual(["layer hidden", "layer hidden_norm"]);
  expect(names("digits")).toEqual(["file digits_mlp.py"]);
  expect(names("")).toEqual([]);
});

test("a line: what it computed, and its source", () => {
  const [hit] = found("digits_mlp.py:79", aRun(), []);
  hit?.act();
  expect([part("line").value, part("src").value, part("panel").value, part("health").value]).toEqual(["digits_mlp.py:79", "0:79", "source", null]);
});

test("an op type narrows the list, instead of the filters before", () => {
  found("MatMul", aRun(), [])[0]?.act();
  expect([part("op").value, part("health").value]).toEqual(["MatMul", null]);
});

test("tensors that the server found, and a tensor's number, get the focus", () => {
  found("zzz", aRun(), [aRow(5)])[0]?.act();
  expect(part("tensor").value).toBe("0.5");
  found("0.1841", aRun(), [])[0]?.act();
  expect(part("tensor").value).toBe("0.1841");
});
