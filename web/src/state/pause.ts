/** A paused program: its position, and the commands to it. Only a live page has one. */
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { post, RequestFailed } from "../api/client";
import type { Commanded, Pause, TensorId } from "../api/types";
import { part } from "./address";
import { slideFocus } from "./focus";
import { ofRun, runName } from "./name";
import { run } from "./run";
import { announce } from "./said";

/** A command, typed or pressed, and its answer; null: it is running. */
export interface Exchange {
  command: string;
  answer: Commanded | RequestFailed | null;
}

const MOST = 100;

export const pause = signal<Pause | null>(null);
export const consoleOpen = signal(false);
export const exchanges = signal<Exchange[]>([]);
export const paused: ReadonlySignal<boolean> = computed(() => pause.value?.state === "paused" && run.value?.live === true);
/** The program is no longer paused, although nobody resumed it. Its end may be recorded a moment later. */
export const died: ReadonlySignal<boolean> = computed(() => pause.value?.state === "gone" && run.value?.status !== "finished" && run.value?.status !== "failed");
/** A command is running. */
export const busy: ReadonlySignal<boolean> = computed(() => exchanges.value.at(-1)?.answer === null);

/** The program reports its state. */
export function stands(next: Pause): void {
  const before = pause.peek();
  const known = next.tensor === null && next.pause !== null && next.pause === before?.pause ? before.tensor : next.tensor;
  pause.value = { ...next, tensor: known };
  if (next.state === "paused" && next.pause !== before?.pause) announce(`Paused at ${next.why ?? "a break point"}, ${next.name ?? ""}`);
}

/** Runs a line of the debugger's command line in the program. */
export async function send(command: string): Promise<void> {
  const path = ofRun("debug");
  if (path === null || busy.peek()) return;
  const one: Exchange = { command, answer: null };
  exchanges.value = [...exchanges.peek(), one].slice(-MOST);
  const answer = await post<Commanded>(path, { command, columns: columns() }).catch(failed);
  exchanges.value = exchanges.peek().map((other) => (other === one ? { command, answer } : other));
  if (answer instanceof RequestFailed || answer.failed !== null) consoleOpen.value = true; // the console says why
  else if (answer.pause !== null) stands(answer.pause);
}

/** Starts moving the focus with the pauses, as long as the reader does not choose another tensor. */
export function followPause(): () => void {
  const chosen = part("tensor");
  let last: TensorId | null = null;
  const forget = effect(() => {
    void runName.value;
    pause.value = null;
    exchanges.value = [];
    last = null;
  });
  const follow = effect(() => {
    const tensor = paused.value ? (pause.value?.tensor ?? null) : null;
    if (tensor === null || tensor === last) return;
    if (chosen.peek() === null || chosen.peek() === last) slideFocus(tensor);
    last = tensor;
  });
  return () => (forget(), follow());
}

function failed(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(String(error), null, 0);
}

/** The number of characters that fit into a line of the console. */
function columns(): number {
  return Math.max(40, Math.floor((innerWidth - 40) / 7.3));
}
