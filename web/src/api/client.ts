/** Sends requests to the server; in an exported page, looks up the answers in the page. */
import { answered, unanswered } from "./reach";
import type { Failure } from "./types";

export type Params = Record<string, string | number | boolean | null | undefined>;

export class RequestFailed extends Error {
  constructor(
    readonly what: string,
    readonly next: string | null,
    readonly status: number,
  ) {
    super(what);
  }
}

/** The part of an address after "?", without unset parameters; sorted, so that equal requests have equal addresses. */
export function query(params: Params): string {
  const set = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(set.map(([key, value]): [string, string] => [key, String(value)]).sort());
  return set.length ? `?${text}` : "";
}

/** `get<Run>("runs/abc")`; rejects with RequestFailed. */
export async function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const address = `api/${path}${query(params)}`;
  const kept = exported()?.[address];
  if (kept !== undefined) return unlessFailed<T>(kept as T | Failure);
  if (exported()) throw new RequestFailed("This part was not taken along into the exported page.", "Open the run itself: sleuth view", 404);
  return asked<T>(address, { signal: signal ?? null, headers: { accept: "application/json" } });
}

/** Sends a command to the server; an exported page has no server. */
export async function post<T>(path: string, body: unknown): Promise<T> {
  return asked<T>(`api/${path}`, { method: "POST", headers: { accept: "application/json", "content-type": "application/json" }, body: JSON.stringify(body) });
}

async function asked<T>(address: string, how: RequestInit): Promise<T> {
  const answer = await fetch(address, how).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    unanswered();
    throw new RequestFailed("sleuth view does not answer.", "Start it again in its terminal: sleuth view", 0);
  });
  answered();
  if (answer.ok) return (await answer.json()) as T;
  const failure = (await answer.json().catch(() => null)) as Failure | null;
  throw new RequestFailed(failure?.error.what ?? `The server answered ${answer.status}.`, failure?.error.next ?? null, answer.status);
}

/** An exported page also contains the errors of failed requests. */
function unlessFailed<T>(kept: T | Failure): T {
  const failed = (kept as Failure | null)?.error;
  if (failed) throw new RequestFailed(failed.what, failed.next, 404);
  return kept as T;
}

let answers: Record<string, unknown> | null | undefined;

/** The answers in an exported page, by address; null on a live one. */
export function exported(): Record<string, unknown> | null {
  if (answers === undefined) {
    const element = document.getElementById("answers");
    answers = element?.textContent ? (JSON.parse(element.textContent) as Record<string, unknown>) : null;
  }
  return answers;
}
