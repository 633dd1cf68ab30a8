/** Layer statistics: whether there are any, and how to focus the other panels on them. */
import { effect, signal } from "@preact/signals";
import type { Inside, Spot } from "../api/inside";
import { ask } from "../api/kept";
import type { Place } from "../api/types";
import { go } from "./address";
import { setFocus } from "./focus";
import { ofRun, runName } from "./name";
import { cursor, verdict } from "./run";

const NOTHING: Inside = { attention: 0, layers: 0 };
export const inside = signal<Inside>(NOTHING);
let of: string | null = null;

/** Starts requesting them for each run once its verdict is there, which must not wait for this, and again as the program runs. */
export function followInside(): () => void {
  return effect(() => {
    const name = runName.value;
    void cursor.value;
    if (name !== of) [of, inside.value] = [name, NOTHING];
    if (name === null || verdict.value === null) return;
    ask<Inside>(ofRun("inside") as string).then(
      (found) => runName.peek() === name && (inside.value = found),
      () => undefined,
    );
  });
}

/** Focuses every panel on a layer at a step; if it has no tensor there, the source panel goes to its line. */
export async function goTo(id: string, step: number, place: Place | null): Promise<void> {
  const spot = await ask<Spot>(ofRun("layers/at") as string, { id, step }).catch(() => ({ tensor: null, place }));
  const line = spot.place ?? place;
  if (spot.tensor !== null) setFocus(spot.tensor);
  else if (line) go({ src: `${line.file}:${line.line}` });
}
