import { cleanup, fireEvent, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Verdict } from "../src/panels/verdict/Verdict";
import { part } from "../src/state/address";
import { run, verdict } from "../src/state/run";
import { aFinding, aRun, aVerdict } from "./fixtures/run";
import { arrive } from "./fixtures/server";

beforeEach(() => arrive("run=r"));
afterEach(() => {
  cleanup();
  run.value = null;
  verdict.value = null;
});

function shown(said = aVerdict(), of = aRun()) {
  run.value = of;
  verdict.value = said;
  return render(<Verdict />);
}

test("a finding says what, where, when, what to change and how sure it is", () => {
  const text = shown().container.textContent ?? "";
  for (const part of ["digits_mlp.py:79 takes log(0)", "in cross_entropy", "step 2, epoch 0, batch 2", "layer loss", "compute the loss from the logits", "yes (96 %)", "73 zeros of 1,000", "line 73"]) expect(text).toContain(part);
  expect(text).not.toContain("/site"); // the name of the file is enough
});

test("a finding does not wait for what else is known of the run", () => {
  verdict.value = aVerdict();
  const { getByText } = render(<Verdict />);
  expect(getByText("Problem")).toBeTruthy();
});

test("a hop of the chain, and a piece of evidence, move the focus", () => {
  const { getByText } = shown();
  fireEvent.click(getByText("Mul (NaN)"));
  expect(part("tensor").value).toBe("0.1682");
  fireEvent.click(getByText("Softmax"));
  expect(part("tensor").value).toBe("0.1680");
});

test("its place opens the source", () => {
  fireEvent.click(shown().getByText("digits_mlp.py:79 in cross_entropy"));
  expect([part("panel").value, part("src").value, part("tensor").value]).toEqual(["source", "0:79", "0.1681"]);
});

test("several findings are gone through one by one", () => {
  const other = aFinding({ summary: "another one", tensor: "0.9", file: null });
  const { getByLabelText, container } = shown(aVerdict({ findings: [aFinding(), other] }));
  expect(container.textContent).toContain("1 of 2");
  fireEvent.click(getByLabelText("Next finding"));
  expect(container.textContent).toContain("another one");
  expect(part("tensor").value).toBe("0.9");
});

test("it can be made small", () => {
  const { getByText, queryByText } = shown();
  fireEvent.click(getByText("Less"));
  expect(queryByText("Change")).toBeNull();
  fireEvent.click(getByText("More"));
  expect(queryByText("Change")).not.toBeNull();
});

test.each([
  [aRun(), {}, "Healthy", "50 steps, 18,900 tensors, no bad value that matters."],
  [aRun({ live: true }), {}, "Healthy", "so far"],
  [aRun({ status: "killed", ending: "SIGKILL" }), {}, "Ended: SIGKILL", "50 steps, 18,900 tensors until then, no bad value that matters."],
  [aRun({ mode: "FLIGHT" }), {}, "Healthy", "50 steps, 18,900 tensors; no call returned a bad value or wrote one."],
  [aRun(), { blind: "SHAPE" }, "Unknown", "Mode SHAPE looks at no values. Record again in the usual mode: sleuth run digits_mlp.py"],
  [aRun({ tensors: 0, live: true }), {}, "Starting", "nothing yet"],
  [aRun({ tensors: 0 }), { unjudged: "The program ended with exit code 3." }, "Unknown", "exit code 3"],
])("without a finding it says what that rests on", (of, change, mark, words) => {
  const text = shown(aVerdict({ findings: [], ...change }), of).container.textContent ?? "";
  expect(text).toContain(mark);
  expect(text).toContain(words);
});

test("advice is told, and does not make a run ill", () => {
  const note = aFinding({ severity: "note", cause: "fed-by-hand", file: "/w/train.py", line: 9, summary: "/w/train.py:9 copies 4.1 MB a step.", fix: "use tf.data" });
  const text = shown(aVerdict({ findings: [], notes: [note] })).container.textContent ?? "";
  for (const part of ["1 note on time and memory", "train.py:9 copies 4.1 MB a step.", "use tf.data"]) expect(text).toContain(part);
  expect(text).not.toContain("/w/train.py");
});

test("what was counted is sure because it was", () => {
  const kept = { ...aFinding().evidence[0]!, role: "kept" };
  const text = shown(aVerdict({ findings: [aFinding({ cause: "kept-tensors", confidence: 0.92, evidence: [kept] })] })).container.textContent ?? "";
  expect(text).toContain("yes (92 %): it was counted");
});

test("what limits it is told: masked, not covered, damaged", () => {
  const of = aRun({ notCovered: [{ what: "worker 2", why: "it was not recorded", site: null }], trouble: ["events.bin: torn at row 7"] });
  const text = shown(aVerdict({ findings: [], masked: [aFinding({ op: "Sqrt" })] }), of).container.textContent ?? "";
  for (const part of ["Bad values masked at 1 place, no harm done", "Sqrt at digits_mlp.py:79", "worker 2", "it was not recorded", "The trace is damaged", "torn at row 7"]) expect(text).toContain(part);
});
