/** The attention, head, step and sample on screen: `attention=0.17&head=2&look=40&sample=1` in the address. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { AttentionItem } from "../../api/inside";
import { drift, part } from "../../state/address";

export interface Choice {
  item: AttentionItem;
  head: number;
  step: number;
  sample: number;
}

const id = part("attention");
const numbers = { head: part("head"), look: part("look"), sample: part("sample") };

const asked: ReadonlySignal<Record<keyof typeof numbers, number | null>> = computed(() => ({
  head: whole(numbers.head.value),
  look: whole(numbers.look.value),
  sample: whole(numbers.sample.value),
}));

const whole = (text: string | null): number | null => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : null);

/** The requested ones, if they exist; else the first layer and head, at the latest sample. */
export function choice(items: AttentionItem[]): Choice {
  const item = items.find((one) => one.id === id.value) ?? items[0]!;
  const { head, look, sample } = asked.value;
  return {
    item,
    head: Math.min(head ?? 0, Math.max(item.shown - 1, 0)),
    step: item.steps.filter((step) => look === null || step <= look).at(-1) ?? item.steps[0] ?? 0,
    sample: Math.min(sample ?? 0, Math.max(item.samples - 1, 0)),
  };
}

export function choose(change: { item?: string; head?: number; step?: number | null; sample?: number }): void {
  const parts: Record<string, string | number | null> = {};
  if (change.item !== undefined) parts.attention = change.item;
  if (change.head !== undefined) parts.head = change.head;
  if (change.step !== undefined) parts.look = change.step;
  if (change.sample !== undefined) parts.sample = change.sample;
  drift(parts);
}

/** Left and right: heads; up and down: layers; PageUp and PageDown: samples. Returns whether the key was one of these. */
export function move(key: string, items: AttentionItem[], { item, head, step }: Choice): boolean {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, PageUp: -1, PageDown: 1 }[key];
  if (by === undefined) return false;
  if (key === "ArrowLeft" || key === "ArrowRight") choose({ head: clamp(head + by, item.shown) });
  else if (key.startsWith("Page")) choose({ step: item.steps[clamp(item.steps.indexOf(step) + by, item.steps.length)] ?? null });
  else choose({ item: items[clamp(items.indexOf(item) + by, items.length)]!.id });
  return true;
}

const clamp = (at: number, length: number): number => Math.max(Math.min(at, length - 1), 0);
