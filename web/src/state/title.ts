/** What the browser's tab says: how it stands, then which program. */
import { effect } from "@preact/signals";
import { run, verdict } from "./run";

export function followTitle(): () => void {
  return effect(() => {
    document.title = title(run.value?.program ?? null, verdict.value?.findings.length ?? 0);
  });
}

export function title(program: string | null, findings: number): string {
  return [findings > 0 && "Problem", program, "tensorsleuth"].filter(Boolean).join(" · ");
}
