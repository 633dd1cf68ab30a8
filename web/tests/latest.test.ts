import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Latest } from "../src/panels/timeline/latest";
import { parse, written } from "../src/panels/timeline/state";

let asked: { url: string; signal: AbortSignal; answer: (body: unknown) => void }[];

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal("fetch", (url: string, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve, reject) => {
      asked.push({ url, signal, answer: (body) => resolve(new Response(JSON.stringify(body))) });
      signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    }));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
const settle = () => vi.advanceTimersByTimeAsync(0);

describe("the latest question", () => {
  it("is asked when they stop coming", async () => {
    const latest = new Latest<number>(() => undefined, () => undefined);
    for (let at = 0; at < 20; at++) {
      latest.ask("bins", { at }, 100);
      await vi.advanceTimersByTimeAsync(30);
    }
    expect(asked).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(asked.map(({ url }) => url)).toEqual(["api/bins?at=19"]);
  });
  it("aborts the one before, whose answer never arrives", async () => {
    const answers: number[] = [];
    const latest = new Latest<number>((answer) => answers.push(answer), () => undefined);
    latest.ask("bins", { at: 1 }, 0);
    await settle();
    latest.ask("bins", { at: 2 }, 0);
    await settle();
    expect(asked[0]!.signal.aborted).toBe(true);
    asked[0]!.answer(1);
    asked[1]!.answer(2);
    await settle();
    expect(answers).toEqual([2]);
  });
  it("when it is the same, lets the first be answered, then asks once more", async () => {
    const answers: number[] = [];
    const latest = new Latest<number>((answer) => answers.push(answer), () => undefined);
    latest.ask("bins", {}, 0);
    await settle();
    for (let event = 0; event < 5; event++) latest.ask("bins", {}, 0);
    expect(asked).toHaveLength(1);
    asked[0]!.answer(1);
    await settle();
    await settle();
    expect(asked).toHaveLength(2);
    asked[1]!.answer(2);
    await settle();
    await settle();
    expect(answers).toEqual([1, 2]);
    expect(asked).toHaveLength(2);
  });
  it("tells of a failure", async () => {
    const failures: string[] = [];
    const latest = new Latest<number>(() => undefined, (error) => failures.push(error.what));
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify({ error: { what: "no such run", next: null } }), { status: 404 })));
    latest.ask("bins", {}, 0);
    await settle();
    await settle();
    expect(failures).toEqual(["no such run"]);
  });
});

describe("the stretch in the address", () => {
  it("comes back as it was written", () => {
    expect(parse(written({ from: 0.25, to: 1.5 }))).toEqual({ from: 0.25, to: 1.5 });
    expect(parse(written({ from: 1e-7, to: 3e-7 }))).toEqual({ from: 1e-7, to: 3e-7 });
    expect(written(null)).toBeNull();
  });
  it("is the whole run where it makes no sense", () => expect([null, "", "3", "5..2", "a..b", "-1..2", "1..1", "..2", "1..2..3", "1..Infinity"].map(parse)).toEqual(new Array(10).fill(null)));
});
