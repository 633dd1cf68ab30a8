/** The title of the browser's tab: the state, then the program. */
import { effect } from "@preact/signals";
import { paused } from "./pause";
import { run, verdict } from "./run";

export function followTitle(): () => void {
  return effect(() => {
    document.title = title(run.value?.program ?? null, verdict.value?.findings.length ?? 0, paused.value);
  });
}

export function title(program: string | null, findings: number, waits = false): string {
  return [waits && "Paused", findings > 0 && "Problem", program, "tensorsleuth"].filter(Boolean).join(" · ");
}
