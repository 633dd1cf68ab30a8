/** An answer of the server as a component uses it. */
import { useEffect, useState } from "preact/hooks";
import { query, RequestFailed, type Params } from "../api/client";
import { answerNow, ask } from "../api/kept";
import { returns } from "../api/reach";
import { cursor } from "../state/run";

export interface Answer<T> {
  /** The latest answer to this request; while a live run is requested again, the previous one. */
  value: T | null;
  error: RequestFailed | null;
  /** Nothing to show yet. */
  loading: boolean;
}

/**
 * `useAnswer<TensorDetail>(ofRun(`tensors/${id}`))`. A path of null sends nothing. Sends again when the program continues, unless
 * `live` is false; the old answer stays until the new one arrives.
 */
export function useAnswer<T>(path: string | null, params: Params = {}, live = true): Answer<T> {
  const key = path === null ? null : path + query(params);
  const moment = live ? cursor.value : 0;
  const [held, hold] = useState<{ key: string | null; value: T | null; error: RequestFailed | null }>({ key: null, value: null, error: null });
  useEffect(() => {
    if (path === null) return;
    let current = true;
    ask<T>(path, params).then(
      (value) => current && hold({ key, value, error: null }),
      (error: unknown) => current && hold({ key, value: null, error: asFailed(error) }),
    );
    return () => void (current = false);
  }, [key, moment, returns.value]);
  if (path === null) return { value: null, error: null, loading: false };
  if (held.key === key) return { value: held.value, error: held.error, loading: false };
  const now = answerNow<T>(path, params);
  return { value: now ?? null, error: null, loading: now === undefined };
}

function asFailed(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(String(error), null, 0);
}
