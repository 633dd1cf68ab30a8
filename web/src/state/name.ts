/** The run on the page; null until one is known. */
import { part } from "./address";

export const runName = part("run");

/** The request `path` for this run, for `get` and `useAnswer`; null while there is no run. */
export function ofRun(path = ""): string | null {
  if (runName.value === null) return null;
  return `runs/${encodeURIComponent(runName.value)}${path && `/${path}`}`;
}
