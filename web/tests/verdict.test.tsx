import { cleanup, fireEvent, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Doing, Ending } from "../src/api/ending";
import type { Place } from "../src/api/types";
import { level, points } from "../src/panels/verdict/Curve";
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

test("a finding says what, where, when, how to fix it and how far to trust it", () => {
  const text = shown().container.textContent ?? "";
  for (const part of ["digits_mlp.py:79 takes log(0)", "in cross_entropy", "step 2, epoch 0, batch 2", "layer loss", "compute the loss from the logits", "Confidencehigh: its inputs explain it", "73 zeros of 1,000", "line 73"]) expect(text).toContain(part);
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
  expect(queryByText("Fix")).toBeNull();
  fireEvent.click(getByText("More"));
  expect(queryByText("Fix")).not.toBeNull();
});

test.each([
  [aRun(), {}, "Healthy", "No problem found in 50 steps, 18,900 tensors."],
  [aRun({ live: true }), {}, "Healthy", "so far"],
  [aRun({ status: "killed", ending: "SIGKILL" }), {}, "Ended: SIGKILL", "No other problem found in 50 steps, 18,900 tensors until then."],
  [aRun({ mode: "FLIGHT" }), {}, "Healthy", "No call returned or wrote a NaN or an infinity in 50 steps, 18,900 tensors."],
  [aRun(), { unclear: [{ what: "x", command: null }], unclear_words: "no problem found in 4 steps, but x" }, "Unclear", "No problem found in 4 steps, but x."],
  [aRun({ tensors: 0, live: true }), {}, "Starting", "nothing yet"],
  [aRun({ tensors: 0 }), { unjudged: "The program ended with exit code 3." }, "Unknown", "exit code 3"],
])("without a finding it says what that rests on", (of, change, mark, words) => {
  const text = shown(aVerdict({ findings: [], ...change }), of).container.textContent ?? "";
  expect(text).toContain(mark);
  expect(text).toContain(words);
});

test("an unclear run says what else was not seen, and the one command that would show it", () => {
  const unclear = [{ what: "the loss did not move", command: null }, { what: "a row is missing", command: "sleuth run train.py" }];
  const text = shown(aVerdict({ findings: [], verdict: "unknown", unclear, unclear_words: "no problem, but the loss did not move" })).container.textContent ?? "";
  for (const part of ["Unclear", "No problem, but the loss did not move.", "Also: a row is missing", "To be sure: sleuth run train.py"]) expect(text).toContain(part);
});

test("advice is told, and does not make a run ill", () => {
  const note = aFinding({ severity: "note", cause: "fed-by-hand", file: "/w/train.py", line: 9, summary: "/w/train.py:9 copies 4.1 MB a step.", fix: "use tf.data" });
  const text = shown(aVerdict({ findings: [], notes: [note] })).container.textContent ?? "";
  for (const part of ["1 note: advice, no problem", "train.py:9 copies 4.1 MB a step.", "use tf.data"]) expect(text).toContain(part);
  expect(text).not.toContain("/w/train.py");
});

test("marks the expression, and tells the line that uses it", () => {
  const other = { file: "/site/train.py", line: 31, function: "main", code: "model.fit(x, y)" };
  const parts: [string, string, string] = ["x = ", "Dense(16)", "(x)"];
  const { container } = shown(aVerdict({ findings: [aFinding({ code_parts: parts, shown_at: other })] }));
  expect(container.querySelector(".where-code")?.textContent).toBe("x = Dense(16)(x)");
  expect(container.querySelector(".where-mark")?.textContent).toBe("Dense(16)");
  expect(container.textContent).toContain("train.py:31: model.fit(x, y)");
});

test("the confidence is what the terminal says, also for an end", () => {
  const text = shown(aVerdict({ findings: [aFinding({ cause: "heads-mixed", confidence_words: "high: the graph is built this way" })] })).container.textContent ?? "";
  expect(text).toContain("high: the graph is built this way");
  expect(text).not.toContain("no earlier value was NaN");
});

test("what limits it is told: masked, not covered, damaged", () => {
  const of = aRun({ notCovered: [{ what: "worker 2", why: "it was not recorded", site: null }], trouble: ["events.bin: torn at row 7"] });
  const text = shown(aVerdict({ findings: [], masked: [aFinding({ op: "Sqrt" })] }), of).container.textContent ?? "";
  for (const part of ["Bad values masked at 1 place, no harm done", "Sqrt at digits_mlp.py:79", "worker 2", "it was not recorded", "The trace is damaged", "torn at row 7"]) expect(text).toContain(part);
});

const place = (line: number): Place => ({ file: 0, path: "/site/train.py", line, function: "step", code: null });
const op = (change: Partial<Doing>): Doing => ({ thread: "main thread", op: "MatMul", layer: null, seconds: null, ended: false, makes: null, bytes: null, place: place(31), inside: [], ...change });
const anEnd: Ending = {
  kind: "killed-out-of-memory", exit: null, signal: "SIGKILL", step: 3, when: "step 3", quiet: 0.2, moreThreads: 1, said: ["Killed"],
  doing: [op({ op: "step", place: place(40), seconds: 0.9, inside: [op({ makes: "float32 [8192, 8192]", layer: "dense" })] }), op({ thread: "thread 4", op: "Fill", ended: true, seconds: 2 })],
  stacks: [{ current: true, frames: [{ place: null, path: "/lib/ctypes/__init__.py", line: 519, function: "string_at", user: false }, { place: place(9), path: "/site/train.py", line: 9, function: "reads", user: true }] }],
  memory: { used: 9e8, peak: 928e6, limit: 944e6, machine: null, curve: [[-8.8, 228e6], [0, 928e6]], largest: [{ name: "grow", dtype: "float32", shape: [4000, 2000], bytes: 352e6, seconds: 8.1, step: 2, count: 11, place: place(11) }], oldest: [] },
};

test("how a program ended: threads, lines, memory and tensors, with the finding that is about it", () => {
  const { container, getByText, getByRole } = shown(aVerdict({ findings: [aFinding({ cause: "killed-out-of-memory", summary: "Killed: out of memory.", confidence_words: "high: the process ended this way" })], end: anEnd }));
  const text = container.textContent ?? "";
  for (const part of ["main thread: train.py:31 MatMul → float32 [8192, 8192], layer dense, in step (train.py:40), for 900 ms", "thread 4: last train.py:31 Fill, 2 s before", "and 1 more thread", "train.py:9 in reads", "Killed", "228 MB → 928 MB in 8.8 s", "at most 928 MB, the container's limit is 944 MB", "352 MB 11 × grow float32 4000×2000, train.py:11, 8.1 s old", "high: the process ended this way"]) expect(text).toContain(part);
  expect(getByRole("img", { name: /^Memory up to the end/ })).toBeTruthy();
  fireEvent.click(getByText("train.py:11"));
  expect([part("panel").value, part("src").value]).toEqual(["source", "0:11"]);
  fireEvent.click(getByText("Where it went"));
  expect(part("panel").value).toBe("memory.source");
});

test("a finding that is not about the end does not tell of it", () => {
  expect(shown(aVerdict({ end: anEnd })).container.textContent).not.toContain("main thread");
});

test("the curve up to the end has the limit in sight where it is near", () => {
  const { memory } = anEnd;
  expect(points({ ...memory!, limit: null })).toBe("0,19.1 180,1");
  expect(level(944e6, memory!)).toBe(1);
  expect(level(928e6, { ...memory!, limit: 64e9 })).toBe(1);
});
