/** The filters and the order of the list, as in the address and in requests to the server. */
import { computed, type ReadonlySignal } from "@preact/signals";
import type { Params } from "../../api/client";
import { address, drift, go, type Changes } from "../../state/address";

export const FILTERS = ["name", "op", "layer", "from", "to", "health", "line", "in"] as const;
export type Filter = (typeof FILTERS)[number];
export type Sort = "order" | "step" | "name" | "op" | "elements" | "nan" | "inf" | "min" | "max" | "mean";

export const HEALTHS = ["bad", "nan", "inf", "zero", "healthy"] as const;

/** Changes only when one of them does, not with the rest of the address. */
const text = computed(() => JSON.stringify([...FILTERS, "sort", "desc"].map((key) => address.value.get(key))));

export const filters: ReadonlySignal<Record<Filter, string>> = computed(() => {
  void text.value;
  const asked = address.peek();
  return Object.fromEntries(FILTERS.map((key) => [key, asked.get(key) ?? ""])) as Record<Filter, string>;
});

export const sort: ReadonlySignal<{ by: Sort; descending: boolean }> = computed(() => {
  void text.value;
  return { by: (address.peek().get("sort") ?? "order") as Sort, descending: address.peek().get("desc") === "1" };
});

/** As parameters of the server's `tensors`. */
export const params: ReadonlySignal<Params> = computed(() => ({ ...asParams(filters.value), ...sorted(sort.value) }));

export const filtered: ReadonlySignal<boolean> = computed(() => FILTERS.some((key) => filters.value[key] !== ""));

export function asParams(set: Record<Filter, string>): Params {
  const { line, in: where, ...plain } = set;
  const cut = line.lastIndexOf(":");
  const place = cut > 0 ? { file: line.slice(0, cut), line: line.slice(cut + 1) } : {};
  return { ...plain, ...place, eager: where === "" ? null : where === "eager" };
}

function sorted({ by, descending }: { by: Sort; descending: boolean }): Params {
  return { sort: by === "order" ? null : by, descending: descending ? true : null };
}

/** Typing does not fill the browser's history. */
export function setFilter(key: Filter, value: string, typing = false): void {
  (typing ? drift : go)({ [key]: value.trim() === "" ? null : value });
}

export function clearFilters(): void {
  go(Object.fromEntries(FILTERS.map((key) => [key, null])) as Changes);
}

/** First the most useful direction (the worst, the largest), then the reverse, then back to the order of time. */
export function sortBy(by: Sort): void {
  const now = sort.peek();
  const down = ["nan", "inf", "max", "elements"].includes(by);
  if (now.by !== by) go({ sort: by === "order" ? null : by, desc: down ? 1 : null });
  else if (now.descending === down) go({ desc: down ? null : 1 });
  else go({ sort: null, desc: null });
}
