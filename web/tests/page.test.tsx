import { cleanup, fireEvent, render } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RequestFailed } from "../src/api/client";
import { Page } from "../src/layout/Page";
import { PanelBody } from "../src/layout/PanelBody";
import { inWords, parts } from "../src/widgets/HealthBar";
import { part } from "../src/state/address";
import { connection } from "../src/state/live";
import { title } from "../src/state/title";
import { failure, run, runs, verdict } from "../src/state/run";
import { aRun, aVerdict, someHealth } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

beforeEach(() => {
  serve({});
  arrive("");
  failure.value = null;
  runs.value = null;
  run.value = null;
  verdict.value = null;
  connection.value = "none";
});
afterEach(cleanup); // the server stays: panels that were drawn may still ask
const text = (): string => render(<Page />).container.textContent ?? "";

test("no run yet: how to record one", () => {
  runs.value = [];
  const page = text();
  for (const part of ["No run here yet", "sleuth run train.py", "tensorsleuth.record", "sleuth demo"]) expect(page).toContain(part);
});

test("no server: what to do", () => {
  failure.value = new RequestFailed("sleuth view does not answer.", "Start it again in its terminal: sleuth view", 0);
  expect(text()).toContain("Start it again in its terminal");
});

test("a run that there is not: those that there are", () => {
  arrive("run=gone&tensor=0.3");
  runs.value = [aRun({ name: "here" })];
  failure.value = new RequestFailed("There is no run gone.", null, 404);
  const { getByText, container } = render(<Page />);
  expect(container.textContent).toContain("There is no run gone.");
  fireEvent.click(getByText("here"));
  expect([part("run").value, part("tensor").value]).toEqual(["here", null]);
});

test("a live run whose server went away: told, and what was there stays", () => {
  arrive("run=r");
  run.value = aRun({ live: true });
  verdict.value = aVerdict();
  connection.value = "lost";
  const page = text();
  expect(page).toContain("What is here is from before");
  expect(page).toContain("takes log(0)");
});

test("a mode too light for a panel: which one to record with", () => {
  run.value = aRun();
  const panel = { id: "x", title: "Values", component: () => null, region: "right", row: 0, needs: "values" } as const;
  const body = render(<PanelBody panel={panel} />).container.textContent;
  expect(body).toContain("Not recorded in mode FULL_HEALTH");
  expect(body).toContain("sleuth run --mode FULL_TENSOR digits_mlp.py");
});

test("a panel that breaks takes only itself down", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const Broken = (): never => {
    throw new Error("drawn badly");
  };
  const body = render(<PanelBody panel={{ id: "x", title: "Broken", component: Broken, region: "left", row: 0 }} />).container.textContent;
  expect(body).toContain("Broken could not be drawn.");
  expect(body).toContain("drawn badly");
});

test("the browser's tab says how it stands", () => {
  expect([title("train.py", 2), title("train.py", 0), title(null, 0)]).toEqual(["Problem · train.py · tensorsleuth", "train.py · tensorsleuth", "tensorsleuth"]);
});

test("the health bar: what is bad is never too thin to see", () => {
  const shares = parts(someHealth({ bad: true, neg: 0, pos: 999_999, nan: 1 }));
  expect(shares.map((one) => one.key)).toEqual(["pos", "nan"]);
  expect(shares[1]?.share).toBeGreaterThan(0.05);
  expect(shares.reduce((sum, one) => sum + one.share, 0)).toBeCloseTo(1);
});

test("health in words, also where nothing is counted", () => {
  run.value = aRun({ records: { health: true, counts: false, range: false, shapes: true, values: false } });
  const none = { neg: -1, zero: -1, pos: -1, nan: -1, negInf: -1, posInf: -1 };
  expect(inWords(someHealth({ bad: true, negInf: 73 }))).toBe("73 −∞, 500 positive, 500 negative");
  expect([inWords(someHealth({ ...none, bad: true })), inWords(someHealth(none)), parts(someHealth(none))]).toEqual(["has NaN or infinity", "no NaN or infinity", []]);
  run.value = aRun();
  expect(inWords(someHealth(none))).toBe("not recorded"); // this run counts, so what has no counts was not looked at
});
