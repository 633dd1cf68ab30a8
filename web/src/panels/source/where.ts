/** The line of the source panel: a requested one, else that of the tensor in focus, else that of the finding. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Place, Run, TensorDetail } from "../../api/types";
import { go, part } from "../../state/address";
import { verdict } from "../../state/run";

export interface Spot {
  file: number;
  line: number;
}

const asked = part("src");

/** From the address: `src=2:18`. */
export const askedSpot: ReadonlySignal<Spot | null> = computed(() => {
  const [, file, line] = /^(\d+):(\d+)$/.exec(asked.value ?? "") ?? [];
  return file === undefined ? null : { file: Number(file), line: Number(line) };
});

export function spotFor(run: Run, detail: TensorDetail | null): Spot | null {
  const place: Place | null | undefined = detail?.place ?? detail?.forward?.place ?? verdict.value?.findings[0]?.place;
  if (askedSpot.value) return askedSpot.value;
  if (place) return { file: place.file, line: place.line };
  const first = run.files.find((file) => file.user) ?? run.files[0];
  return first ? { file: first.number, line: 0 } : null;
}

export function openSpot(file: number, line: number): void {
  go({ src: `${file}:${line}` });
}
