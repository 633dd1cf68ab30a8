/** Which run the page is about; null until one is known. */
import { part } from "./address";

export const runName = part("run");

/** The question `path` about this run, for `get` and `useAnswer`; null while there is no run. */
export function ofRun(path = ""): string | null {
  if (runName.value === null) return null;
  return `runs/${encodeURIComponent(runName.value)}${path && `/${path}`}`;
}
