/** Recent answers: panels that send the same request share it, and going back shows the earlier answer at once. */
import { get, query, type Params } from "./client";

const MOST = 300;
const kept = new Map<string, Promise<unknown>>();
const known = new Map<string, unknown>();

/** As `get`, but sends each request once; a failed one is sent again the next time. */
export function ask<T>(path: string, params: Params = {}): Promise<T> {
  const key = path + query(params);
  const before = kept.get(key);
  if (before) return before as Promise<T>;
  const asked = get<T>(path, params);
  keep(key, asked);
  return asked;
}

/** The answer, if it is cached. */
export function answerNow<T>(path: string, params: Params = {}): T | undefined {
  return known.get(path + query(params)) as T | undefined;
}

/** The program continued, so cached answers may be out of date. */
export function forget(): void {
  kept.clear();
  known.clear();
}

function keep(key: string, asked: Promise<unknown>): void {
  if (kept.size >= MOST) drop(kept.keys().next().value as string);
  kept.set(key, asked);
  asked.then(
    (answer) => kept.get(key) === asked && known.set(key, answer),
    () => kept.get(key) === asked && drop(key),
  );
}

function drop(key: string): void {
  kept.delete(key);
  known.delete(key);
}
