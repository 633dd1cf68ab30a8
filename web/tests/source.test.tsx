import { cleanup, fireEvent, render, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forget } from "../src/api/kept";
import { Source } from "../src/panels/source/Source";
import { folded } from "../src/panels/stack/folds";
import { Stack } from "../src/panels/stack/Stack";
import { part } from "../src/state/address";
import { run } from "../src/state/run";
import { aDetail, aFrame, aRun } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

const margin = { tensors: 3, bad: 1, firstBad: "0.1681", first: "0.1680", words: "73 −∞ of 1,000" };
const lines = Array.from({ length: 120 }, (_, n) => ({ html: `<span class="k">line</span> ${n + 1}`, margin: n === 78 ? margin : null }));
const source = { file: aRun().files[0], lines, css: null };

beforeEach(() => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(190);
  forget();
  run.value = aRun();
  arrive("run=r&tensor=0.1681");
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test("the line of the tensor in focus is marked and in sight, with the health of what it computed", async () => {
  const fetch = serve({ "tensors/0.1681": aDetail(1681), "sources/0": source });
  const { container } = render(<Source />);
  await waitFor(() => expect(container.querySelector(".line-here .line-number")?.textContent).toBe("79"));
  expect(container.querySelector(".line-here .line-words")?.textContent).toBe("73 −∞ of 1,000");
  expect(container.querySelectorAll(".line").length).toBeLessThan(40);
  expect(fetch.mock.calls.map(([address]) => address)).toContain("api/runs/r/sources/0?at=0.1681");
});

test("a tensor that is not there, as in an exported page, leaves the program's file to read", async () => {
  serve({ "sources/0": source });
  const { findByText, container } = render(<Source />);
  await findByText("1", { selector: ".line-number" });
  expect(container.querySelector(".loading")).toBeNull();
});

test("a click in the margin goes to the first bad tensor of that line", async () => {
  serve({ "tensors/0.1690": aDetail(1690), "sources/0": source });
  arrive("run=r&tensor=0.1690");
  const { container } = render(<Source />);
  await waitFor(() => expect(container.querySelector(".mark-line-bad")).not.toBeNull());
  fireEvent.click(container.querySelector(".mark-line-bad") as Element);
  expect(part("tensor").value).toBe("0.1681");
});

test("of a gradient, the forward line stands beside it", async () => {
  const forward = { op: "Log", name: "Log", place: { file: 0, path: "/site/digits_mlp.py", line: 73, function: "f", code: "tf.math.log(probs)" } };
  serve({ "tensors/0.1681": aDetail(1681, { gradient: true, forward }), "sources/0": source });
  const { container, getByText } = render(<Source />);
  await waitFor(() => expect(container.querySelector(".line-forward .line-number")?.textContent).toBe("73"));
  expect(container.textContent).toContain("Gradient of");
  expect(container.textContent).toContain("tf.math.log(probs)");
  fireEvent.click(getByText("digits_mlp.py:73"));
  expect(part("src").value).toBe("0:73");
});

test("frames of libraries are folded away, and unfold", async () => {
  serve({ "tensors/0.1681": aDetail(1681) });
  const { container, getByText } = render(<Stack />);
  await waitFor(() => getByText("▸ 2 library frames", { exact: false }));
  expect([...container.querySelectorAll(".stack-where")].map((frame) => frame.textContent)).toEqual(["digits_mlp.py:79", "digits_mlp.py:110"]);
  fireEvent.click(getByText("▸ 2 library frames", { exact: false }));
  expect([...container.querySelectorAll(".stack-where")].map((frame) => frame.textContent)).toEqual(["digits_mlp.py:79", "ops.py:3", "def_function.py:9", "digits_mlp.py:110"]);
});

test("a frame of the program opens its line", async () => {
  serve({ "tensors/0.1681": aDetail(1681) });
  const { container } = render(<Stack />);
  await waitFor(() => expect(container.querySelectorAll(".stack-where").length).toBe(2));
  fireEvent.click(container.querySelectorAll("button.stack-frame")[1] as Element);
  expect([part("src").value, part("panel").value]).toEqual(["0:110", "source"]);
});

test("a stack of nothing but library frames is not folded", () => {
  expect(folded([aFrame("/lib/a.py", 1, false), aFrame("/lib/b.py", 2, false)])).toMatchObject([{ library: false, frames: [{ line: 2 }, { line: 1 }] }]);
});
