/** The run on the page: its description, its verdict, and its progress. */
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
/** Counts up when the program continues, so that dependents send their requests again. A newly opened run is at 1. */
export const cursor = signal(1);
/** Why there is no run to show. */
export const failure = signal<RequestFailed | null>(null);

/** The list of runs; if the address names none, the newest is shown. */
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

/** Requests the list of runs: at once if it decides which run is shown; else after the run and its verdict, which must not wait for it. */
export function loadRunsInTime(): void {
  if (runName.peek() === null) return void loadRuns();
  const stop = effect(() => {
    if ((verdict.value === null || run.value === null) && failure.value === null) return;
    queueMicrotask(() => stop());
    void loadRuns();
  });
}

/** Requests the run again, its verdict first: the server answers one request after the other. */
export async function loadRun(): Promise<void> {
  const path = ofRun();
  if (path === null) return;
  await Promise.all([loadVerdict(), settle(path, get<Run>(path), (answer) => take(answer))]);
}

export async function loadVerdict(): Promise<void> {
  const path = ofRun("verdict");
  if (path !== null) await settle(ofRun() as string, get<Verdict>(path), (answer) => (verdict.value = answer));
}

/** The program continued. */
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

/** Ignores an answer if the page shows another run by now. */
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

/** Starts following the run that the address names. */
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
