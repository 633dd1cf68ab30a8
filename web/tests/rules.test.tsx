import { cleanup, fireEvent, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { BrokenRule } from "../src/api/types";
import { BrokenRules } from "../src/panels/alerts/BrokenRules";
import { Rules } from "../src/panels/tensor/Rules";
import { part } from "../src/state/address";
import { badness } from "../src/widgets/badness";
import { arrive } from "./fixtures/server";

beforeEach(() => arrive("run=r"));
afterEach(cleanup);

function aRule(name: string, change: Partial<BrokenRule> = {}): BrokenRule {
  const place = { file: 0, path: "/site/train.py", line: 7, function: "step", code: null };
  return { tensor: "0.5", name, sentence: `${name}: expected values between 0 and 1, found 2 of 6: up to 4.`, change: "scale it", severity: "error", times: 3, step: 2, line: "train.py:7", code: "expect(x)", place, ...change };
}

test("alerts have the sentence of each broken rule; a click shows its tensor", () => {
  const { getByText, queryByText, getByRole } = render(<BrokenRules all={[aRule("a"), aRule("b", { tensor: null }), aRule("c")]} />);
  expect(getByText(/^b: expected/).closest("button")).toBeNull();
  expect(queryByText(/^c: expected/)).toBeNull();
  fireEvent.click(getByRole("button", { name: "1 more rule" }));
  expect(getByText(/^c: expected/)).toBeTruthy();
  fireEvent.click(getByText(/^a: expected/));
  expect([part("tensor").value, part("kind").value]).toEqual(["0.5", "violation"]);
});

test("the tensor in focus says which rules it is shown for, where they stand and what to change", () => {
  const { container, getByRole } = render(<Rules all={[aRule("a")]} />);
  for (const words of ["found 2 of 6: up to 4.", "scale it", "expect(x)", "step 2", "3 times at this place"]) expect(container.textContent).toContain(words);
  fireEvent.click(getByRole("button", { name: "train.py:7" }));
  expect(part("src").value).toBe("0:7");
});

test("a mode that records no values finds none that are bad", () => {
  const said = (mode: string, bad = 0, tensors = 9): string => badness({ mode, bad, tensors });
  expect([said("NO_TENSOR"), said("SHAPE"), said("FLIGHT"), said("CURT_HEALTH"), said("FLIGHT", 7), said("FULL_HEALTH", 0, 0)]).toEqual(["values not recorded", "values not recorded", "no call went bad", "no bad values", "7 bad", "nothing recorded"]);
});
