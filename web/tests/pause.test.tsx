import { cleanup, fireEvent, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Commanded, Pause } from "../src/api/types";
import { PauseBar } from "../src/layout/PauseBar";
import { part } from "../src/state/address";
import { setFocus } from "../src/state/focus";
import { pressed } from "../src/state/keys";
import { consoleOpen, exchanges, followPause, pause, stands } from "../src/state/pause";
import { run } from "../src/state/run";
import { said } from "../src/state/said";
import { title } from "../src/state/title";
import { aRun } from "./fixtures/run";
import { arrive } from "./fixtures/server";

const AT: Pause = {
  state: "paused",
  pause: 1,
  why: "nan > 0",
  name: "loss/Log:0",
  op: "Log",
  layer: "loss",
  file: "/site/digits_mlp.py",
  line: 79,
  step: 2,
  iteration: 0,
  dtype: "float32",
  shape: [100, 10],
  seen: [{ name: "nan", value: "73" }],
  tensor: "0.42",
};
const RUNNING: Pause = { ...AT, state: "running", pause: null, why: null, name: null, file: null, line: null, seen: [], tensor: null };

const DONE: Commanded = { parts: [], failed: null, pause: null };
let stop: () => void;

/** The server, which answers every command alike; what was asked of it. */
function answering(answer: Partial<Commanded> | { error: { what: string; next: string | null } }, status = 200) {
  const fetch = vi.fn(async (_path: string, _how: RequestInit) => new Response(JSON.stringify("error" in answer ? answer : { ...DONE, ...answer }), { status }));
  vi.stubGlobal("fetch", fetch);
  return { fetch, commands: () => fetch.mock.calls.map(([, how]) => (JSON.parse(String(how.body)) as { command: string }).command) };
}

function press(key: string): void {
  pressed(new KeyboardEvent("keydown", { key, cancelable: true }));
}

beforeEach(() => {
  arrive("run=r");
  stop = followPause();
  run.value = aRun({ live: true, status: "running" });
  consoleOpen.value = false;
});
afterEach(() => {
  stop();
  cleanup();
  vi.unstubAllGlobals();
});

test("where, why, which line, which step", () => {
  stands(AT);
  const { container, getByTitle } = render(<PauseBar />);
  for (const words of ["Paused at nan > 0 on loss/Log:0", "(Log) float32 [100, 10]", "digits_mlp.py:79", "step 2"]) expect(container.textContent).toContain(words);
  expect(getByTitle(/nan 73/)).toBeTruthy();
  expect(said.value).toContain("Paused at nan > 0");
});

test("no bar while it runs, nor where there is none, nor when it ended", () => {
  const { container } = render(<PauseBar />);
  expect(container.textContent).toBe("");
  stands(AT);
  stands(RUNNING);
  expect(render(<PauseBar />).container.textContent).toBe("");
  stands({ ...AT, pause: 2 });
  expect(render(<PauseBar />).container.textContent).toContain("Paused");
  run.value = aRun({ live: false });
  expect(render(<PauseBar />).container.textContent).toBe("");
});

test("one that was killed while paused: told, with how it ended", () => {
  stands(AT);
  run.value = aRun({ live: false, status: "killed", ending: "killed by SIGKILL" });
  stands({ ...AT, state: "gone" });
  const { container, getByText, queryByText } = render(<PauseBar />);
  expect(container.textContent).toContain("The program died while it was paused at nan > 0 on loss/Log:0");
  expect(container.textContent).toContain("killed by SIGKILL");
  expect(queryByText("Continue")).toBeNull();
  fireEvent.click(getByText("Close"));
  expect(container.textContent).toBe("");
});

test("one that went on to its end did not die", () => {
  run.value = aRun({ live: false, status: "finished" });
  stands({ ...AT, state: "gone" });
  expect(render(<PauseBar />).container.textContent).toBe("");
});

test("buttons and keys send the debugger's own commands, as JSON", async () => {
  const { fetch, commands } = answering({ pause: RUNNING });
  for (const [name, key] of [["Continue", "C"], ["Step", "S"]] as const) {
    stands(AT);
    const { getByText } = render(<PauseBar />);
    fireEvent.click(getByText(name));
    await vi.waitFor(() => expect(pause.value?.state).toBe("running"));
    stands(AT);
    press(key);
    await vi.waitFor(() => expect(pause.value?.state).toBe("running"));
    cleanup();
  }
  expect(commands()).toEqual(["continue", "continue", "step", "step"]);
  const [path, how] = fetch.mock.calls[0] as [string, RequestInit];
  expect([path, how.method, new Headers(how.headers).get("content-type")]).toEqual(["api/runs/r/debug", "POST", "application/json"]);
});

test("keys do nothing where nothing is paused", () => {
  const { fetch } = answering({});
  stands(RUNNING);
  for (const key of ["C", "S", "U", ":"]) press(key);
  expect([fetch.mock.calls.length, consoleOpen.value]).toEqual([0, false]);
});

test("until takes a condition", async () => {
  const { commands } = answering({});
  stands(AT);
  const { getByLabelText, getByText } = render(<PauseBar />);
  expect((getByText("Until") as HTMLButtonElement).disabled).toBe(true);
  fireEvent.input(getByLabelText("Condition"), { target: { value: " max > 1e4 " } });
  fireEvent.submit(getByLabelText("Condition").closest("form") as HTMLFormElement);
  await vi.waitFor(() => expect(commands()).toEqual(["until max > 1e4"]));
});

test("to stop the program takes two clicks", async () => {
  const { commands } = answering({});
  stands(AT);
  const { getByText } = render(<PauseBar />);
  fireEvent.click(getByText("Stop…"));
  expect(commands()).toEqual([]);
  fireEvent.click(getByText("Keep it"));
  fireEvent.click(getByText("Stop…"));
  fireEvent.click(getByText("Stop the program"));
  await vi.waitFor(() => expect(commands()).toEqual(["stop"]));
});

test("the console: an expression and its answer; arrow up brings back what was typed", async () => {
  const { commands } = answering({ parts: [{ text: "np.float32(3.0)\n", style: "bold red" }], pause: AT });
  stands(AT);
  consoleOpen.value = true;
  const { getByLabelText, getByText } = render(<PauseBar />);
  const field = getByLabelText("Command") as HTMLInputElement;
  for (const line of ["eval x.max()", "pt"]) {
    fireEvent.input(field, { target: { value: line } });
    fireEvent.submit(field.form as HTMLFormElement);
    await vi.waitFor(() => expect(exchanges.value.at(-1)?.answer).not.toBeNull());
  }
  expect(commands()).toEqual(["eval x.max()", "pt"]);
  expect(getByText("eval x.max()")).toBeTruthy();
  expect(document.querySelector(".console-answer .said-bold.said-red")?.textContent).toBe("np.float32(3.0)\n");
  const seen = ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"].map((key) => (fireEvent.keyDown(field, { key }), field.value));
  expect(seen).toEqual(["pt", "eval x.max()", "eval x.max()", "pt", ""]);
  fireEvent.keyDown(field, { key: "Escape" });
  expect(consoleOpen.value).toBe(false);
});

test("what could not be done opens the console and says why", async () => {
  answering({ failed: "'dance' is no condition." });
  stands(AT);
  press("S");
  await vi.waitFor(() => expect(consoleOpen.value).toBe(true));
  expect(render(<PauseBar />).container.textContent).toContain("'dance' is no condition.");
});

test("who may only look is told so", async () => {
  answering({ error: { what: "Only the user who started sleuth view may.", next: "Start your own." } }, 403);
  stands(AT);
  press("C");
  await vi.waitFor(() => expect(consoleOpen.value).toBe(true));
  expect(render(<PauseBar />).container.textContent).toContain("Only the user who started sleuth view may. Start your own.");
});

test("the focus goes along with the pauses, until the reader chooses a tensor", () => {
  stands({ ...AT, tensor: null });
  expect(part("tensor").value).toBeNull();
  stands(AT);
  expect(part("tensor").value).toBe("0.42");
  stands(RUNNING);
  stands({ ...AT, pause: 2, tensor: "0.50" });
  expect(part("tensor").value).toBe("0.50");
  setFocus("0.7");
  stands({ ...AT, pause: 3, tensor: "0.60" });
  expect(part("tensor").value).toBe("0.7");
  const { getByText, queryByText } = render(<PauseBar />);
  fireEvent.click(getByText("Show tensor"));
  expect(part("tensor").value).toBe("0.60");
  expect(queryByText("Show tensor")).toBeNull();
});

test("an answer to a command does not know the tensor's id: it is kept", () => {
  stands(AT);
  stands({ ...AT, tensor: null });
  expect(pause.value?.tensor).toBe("0.42");
});

test("another run: nothing of this one stays", () => {
  stands(AT);
  exchanges.value = [{ command: "pt", answer: DONE }];
  arrive("run=other");
  expect([pause.value, exchanges.value]).toEqual([null, []]);
});

test("the browser's tab says so", () => expect(title("train.py", 1, true)).toBe("Paused · Problem · train.py · tensorsleuth"));
