/** Follows a program that is still running, through the server's events; an exported page has none. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { exported, query } from "../api/client";
import { reachable, returns } from "../api/reach";
import type { Change, Pause, Verdict } from "../api/types";
import { ofRun } from "./name";
import { stands } from "./pause";
import { cursor, grow, loadRun, loadRuns, run, runs, verdict } from "./run";

/** none: nothing to follow; lost: the server does not answer, and is polled. */
export const connection = signal<"none" | "open" | "lost">("none");

const RETRY = 2000;

/** Starts following the run on the page. */
export function followLive(): () => void {
  if (exported() || typeof EventSource === "undefined") return () => undefined;
  const stops = [followEvents(), waitForRuns()];
  return () => stops.forEach((stop) => stop());
}

function followEvents(): () => void {
  return effect(() => {
    const path = ofRun("live");
    if (path === null || !isLive.value) return;
    const source = new EventSource(`api/${path}${query({ cursor: cursor.peek() })}`);
    listen(source);
    return () => source.close();
  });
}

/** Changes only when a run becomes live or stops, not with every event. */
const isLive = computed(() => run.value?.live ?? false);

function listen(source: EventSource): void {
  source.onopen = () => void (connection.value = "open");
  source.onerror = () => void (connection.value = "lost");
  source.addEventListener("change", (event) => changed(JSON.parse((event as MessageEvent<string>).data) as Change));
  source.addEventListener("pause", (event) => stands(JSON.parse((event as MessageEvent<string>).data) as Pause));
  source.addEventListener("verdict", (event) => void (verdict.value = JSON.parse((event as MessageEvent<string>).data) as Verdict));
}

/** Its layers, files and lists grow too; they are requested when it has ended, and from time to time before. */
let asked = 0;
function changed(change: Change): void {
  connection.value = change.live ? "open" : "none";
  grow(change);
  if (change.live && Date.now() - asked < RETRY) return;
  asked = Date.now();
  void loadEnding(!change.live);
}

/** The end of a program is recorded a moment after its last tensor. Until then the program is gone, and nobody knows how it ended. */
async function loadEnding(ended: boolean, times = 30): Promise<void> {
  await loadRun();
  const open = run.peek()?.status === "unknown" || (ended && run.peek()?.status === "running");
  if (open && times > 1) setTimeout(() => void loadEnding(ended, times - 1), 1000);
}

/** Without a run in the log directory or without a server, polls; when that is back, requests the run again. */
function waitForRuns(): () => void {
  const timer = setInterval(() => {
    if (!runs.peek()?.length || !reachable.peek()) void loadRuns();
  }, RETRY);
  const back = effect(() => {
    if (returns.value > 0) untracked(() => void loadRun());
  });
  return () => {
    clearInterval(timer);
    back();
  };
}
