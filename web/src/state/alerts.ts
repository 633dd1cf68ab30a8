/** From one bad tensor to the next. */
import { computed, type ReadonlySignal } from "@preact/signals";
import { get } from "../api/client";
import { ask } from "../api/kept";
import type { AlertKind, Alerts, TensorId } from "../api/types";
import { go, part } from "./address";
import { meant, setFocus } from "./focus";
import { ofRun } from "./name";
import { say } from "./said";

const kinds: AlertKind[] = ["nan", "pos_inf", "neg_inf", "violation", "error"];
const chosen = part("kind");

/** The kind for next and previous; null: any. */
export const kind: ReadonlySignal<AlertKind | null> = computed(() => kinds.find((one) => one === chosen.value) ?? null);

/** Selects one kind, and goes to its first. */
export function chooseKind(next: AlertKind | null, first: TensorId | null): void {
  go({ kind: next, ...(first === null ? {} : { tensor: first, src: null }) });
}

export async function jump(direction: "next" | "previous"): Promise<void> {
  const path = ofRun("next");
  if (path === null) return;
  const id = meant.peek() === null ? await first() : (await get<{ id: TensorId | null }>(path, { id: meant.peek(), direction, kind: kind.peek() })).id;
  if (id !== null) setFocus(id);
  else say(`There is no ${direction} alert.`);
}

async function first(): Promise<TensorId | null> {
  const alerts = await ask<Alerts>(ofRun("alerts") as string, { kind: kind.peek(), begin: 0, end: 1 });
  return alerts.items[0]?.id ?? null;
}
