import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connection, followLive } from "../src/state/live";
import { pause } from "../src/state/pause";
import { reachable, returns } from "../src/api/reach";
import { cursor, failure, followRun, loadRuns, run, runs, verdict } from "../src/state/run";
import { part } from "../src/state/address";
import { aRun, aVerdict } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

class Events extends EventTarget {
  static all: Events[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;
  constructor(readonly url: string) {
    super();
    Events.all.push(this);
  }
  close(): void {
    this.closed = true;
  }
  tell(kind: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) }));
  }
}

const CHANGE = { cursor: 9, tensors: 20_000, bad: 1, steps: 60, lastStep: 59, status: "running", live: true };
let stops: (() => void)[] = [];

beforeEach(() => {
  Events.all = [];
  runs.value = null;
  vi.stubGlobal("EventSource", Events);
  arrive("run=r");
});
afterEach(() => {
  stops.forEach((stop) => stop());
  stops = [];
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function follow(): void {
  stops = [followRun(), followLive()];
}

test("a run that is live is followed; what changes comes to the page", async () => {
  serve({ "": aRun({ live: true, cursor: 3, status: "running" }), verdict: aVerdict({ findings: [] }) });
  follow();
  await vi.waitFor(() => expect(Events.all.map((one) => one.url)).toEqual(["api/runs/r/live?cursor=3"]));
  Events.all[0]?.tell("change", CHANGE);
  expect([cursor.value, run.value?.tensors, run.value?.program]).toEqual([9, 20_000, "digits_mlp.py"]);
  Events.all[0]?.tell("verdict", aVerdict());
  expect(verdict.value?.findings[0]?.line).toBe(79);
  expect(connection.value).toBe("open");
});

test("a pause comes with the events", async () => {
  serve({ "": aRun({ live: true }), verdict: aVerdict() });
  follow();
  await vi.waitFor(() => expect(Events.all.length).toBe(1));
  Events.all[0]?.tell("pause", { state: "paused", pause: 1, why: "nan > 0", tensor: null });
  expect(pause.value?.why).toBe("nan > 0");
});

test("a server that is gone is told, until it is back", async () => {
  serve({ "": aRun({ live: true }), verdict: aVerdict() });
  follow();
  await vi.waitFor(() => expect(Events.all.length).toBe(1));
  Events.all[0]?.onerror?.();
  expect(connection.value).toBe("lost");
  Events.all[0]?.onopen?.();
  expect(connection.value).toBe("open");
});

test("when the program ends, it is followed no longer", async () => {
  serve({ "": aRun({ live: true }), verdict: aVerdict() });
  follow();
  await vi.waitFor(() => expect(Events.all.length).toBe(1));
  serve({ "": aRun({ live: false }), verdict: aVerdict() });
  Events.all[0]?.tell("change", { ...CHANGE, live: false, status: "finished" });
  expect([Events.all[0]?.closed, connection.value, run.value?.status]).toEqual([true, "none", "finished"]);
});

test("how it ended is asked for until it is written down", async () => {
  vi.useFakeTimers();
  serve({ "": aRun({ live: true }), verdict: aVerdict() });
  follow();
  await vi.advanceTimersByTimeAsync(10);
  serve({ "": aRun({ status: "unknown", ending: "" }), verdict: aVerdict() });
  Events.all[0]?.tell("change", { ...CHANGE, live: false, status: "unknown" });
  await vi.advanceTimersByTimeAsync(500);
  expect(run.value?.status).toBe("unknown");
  serve({ "": aRun(), verdict: aVerdict() });
  await vi.advanceTimersByTimeAsync(1500);
  expect(run.value?.ending).toBe("exit 0");
});

test("asked while it is gone and nobody knows how, it is asked again", async () => {
  vi.useFakeTimers();
  serve({ "": aRun({ live: true }), verdict: aVerdict() });
  follow();
  await vi.advanceTimersByTimeAsync(3000);
  serve({ "": aRun({ live: false, status: "unknown", ending: "" }), verdict: aVerdict() });
  Events.all[0]?.tell("change", { ...CHANGE, live: true, status: "running" });
  await vi.advanceTimersByTimeAsync(500);
  expect([run.value?.status, Events.all[0]?.closed]).toEqual(["unknown", true]);
  serve({ "": aRun(), verdict: aVerdict() });
  await vi.advanceTimersByTimeAsync(1500);
  expect(run.value?.ending).toBe("exit 0");
});

test("a run that has ended needs no events", async () => {
  serve({ "": aRun(), verdict: aVerdict() });
  follow();
  await vi.waitFor(() => expect(verdict.value).not.toBeNull());
  expect(Events.all).toEqual([]);
});

test("when the server is back, the run is asked for anew, and so is what failed", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("refused")));
  follow();
  await vi.advanceTimersByTimeAsync(10);
  expect([reachable.value, run.value]).toEqual([false, null]);
  const before = returns.value;
  serve({ "api/runs": { begin: 0, end: 1, total: 1, items: [{ name: "r" }] }, "": aRun(), verdict: aVerdict() });
  await vi.advanceTimersByTimeAsync(2500);
  expect([reachable.value, returns.value, run.value?.program]).toEqual([true, before + 1, "digits_mlp.py"]);
});

test("a list of runs does not hide that the run cannot be read", async () => {
  serve({ "api/runs": { begin: 0, end: 0, total: 0, items: [] } });
  follow();
  await vi.waitFor(() => expect(failure.value?.status).toBe(404));
  await loadRuns();
  expect(failure.value?.status).toBe(404);
});

test("with no run yet the page looks again, and opens the first", async () => {
  vi.useFakeTimers();
  arrive("");
  const page = (items: unknown[]) => ({ begin: 0, end: items.length, total: items.length, items });
  serve({ "api/runs": page([]) });
  follow();
  await loadRuns();
  expect([runs.value, part("run").value]).toEqual([[], null]);
  serve({ "api/runs": page([{ name: "r" }]), "": aRun(), verdict: aVerdict() });
  await vi.advanceTimersByTimeAsync(2500);
  expect(part("run").value).toBe("r");
});

test("the answer for a run that one has left is not shown", async () => {
  let answer: (run: unknown) => void = () => undefined;
  vi.stubGlobal("fetch", (address: string) => (address === "api/runs/r" ? new Promise((resolve) => (answer = (body) => resolve(new Response(JSON.stringify(body))))) : Promise.resolve(new Response("{}", { status: 404 }))));
  follow();
  arrive("run=other");
  answer(aRun());
  await new Promise((resolve) => setTimeout(resolve));
  expect(run.value).toBeNull();
});
