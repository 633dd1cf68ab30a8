/** The initial focus of a healthy run: its latest loss. A finding takes precedence. */
import { effect, signal, type ReadonlySignal } from "@preact/signals";
import { ask } from "../api/kept";
import type { Points, Scalar, TensorId } from "../api/types";
import { ofRun, runName } from "./name";
import { verdict } from "./run";

const found = signal<{ run: string; tensor: TensorId | null } | null>(null);
export const first: ReadonlySignal<typeof found.value> = found;

/** Starts choosing the focus once for each run without a finding. */
export function findFirst(): () => void {
  return effect(() => {
    const name = runName.value;
    if (name === null || verdict.value === null || verdict.value.findings.length > 0 || found.peek()?.run === name) return;
    found.value = { run: name, tensor: null };
    void loss(name).catch(() => undefined);
  });
}

async function loss(name: string): Promise<void> {
  const scalars = await ask<{ items: Scalar[] }>(ofRun("scalars") as string);
  const op = scalars.items[0]?.op;
  if (op === undefined || runName.peek() !== name) return;
  const points = await ask<Points>(ofRun(`scalars/${op}`) as string, { points: 1000 });
  const tensor = points.ids.at(-1) ?? null;
  if (runName.peek() === name) found.value = { run: name, tensor };
}
