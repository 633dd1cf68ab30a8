/** The run on the page: what it is, what was found in it, and how far it has got. */
import { batch, effect, signal } from "@preact/signals";
import { get, RequestFailed } from "../api/client";
import { forget } from "../api/kept";
import type { Change, PageOf, Run, RunSummary, Verdict } from "../api/types";
import { drift } from "./address";
import { ofRun, runName } from "./name";

/** Newest first; null until the server has answered. */
export const runs = signal<RunSummary[] | null>(null);
export const run = signal<Run | null>(null);
export const verdict = signal<Verdict | null>(null);
/** Goes up when the program goes on: what depends on it asks again. A run that the server has just opened is at 1. */
export const cursor = signal(1);
/** Why there is no run to show. */
export const failure = signal<RequestFailed | null>(null);

/** The list of runs; the newest is taken where the address names none. */
export async function loadRuns(): Promise<void> {
  try {
    runs.value = (await get<PageOf<RunSummary>>("runs", { begin: 0, end: 200 })).items;
    if (runName.peek() === null) failure.value = null;
  } catch (error) {
    if (runs.peek() === null) failure.value = asFailure(error);
    return;
  }
  const newest = runs.value[0];
  if (runName.peek() === null && newest) drift({ run: newest.name });
}

/** The list of runs, at once where it decides which run is shown; else when the run and its verdict are there, which must not wait for it. */
export function loadRunsInTime(): void {
  if (runName.peek() === null) return void loadRuns();
  const stop = effect(() => {
    if ((verdict.value === null || run.value === null) && failure.value === null) return;
    queueMicrotask(() => stop());
    void loadRuns();
  });
}

/** Ask anew for the run, what was found in it first: the server answers one question after the other. */
export async function loadRun(): Promise<void> {
  const path = ofRun();
  if (path === null) return;
  await Promise.all([loadVerdict(), settle(path, get<Run>(path), (answer) => take(answer))]);
}

export async function loadVerdict(): Promise<void> {
  const path = ofRun("verdict");
  if (path !== null) await settle(ofRun() as string, get<Verdict>(path), (answer) => (verdict.value = answer));
}

/** The program went on. */
export function grow(change: Change): void {
  batch(() => {
    if (run.peek()) run.value = { ...(run.peek() as Run), ...change };
    if (change.cursor === cursor.peek()) return;
    forget();
    cursor.value = change.cursor;
  });
}

function take(answer: Run): void {
  batch(() => {
    run.value = answer;
    failure.value = null;
    if (answer.cursor !== cursor.peek()) {
      forget();
      cursor.value = answer.cursor;
    }
  });
}

/** An answer counts only while the page is still about that run. */
async function settle<T>(path: string, asked: Promise<T>, use: (answer: T) => void): Promise<void> {
  try {
    const answer = await asked;
    if (ofRun() === path) use(answer);
  } catch (error) {
    if (ofRun() === path && run.peek() === null) failure.value = asFailure(error);
  }
}

function asFailure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(String(error), null, 0);
}

/** From now on the page follows the run that its address names. */
export function followRun(): () => void {
  return effect(() => {
    if (runName.value === null) return;
    batch(() => {
      run.value = null;
      verdict.value = null;
      failure.value = null;
    });
    forget();
    void loadRun();
  });
}
