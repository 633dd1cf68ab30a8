/** The numbers themselves, a page at a time, each with its index. */
import type { Value } from "../../api/types";
import { count, value as written } from "../../widgets/format";
import { brackets, indexOf, taken, type Taken } from "./slice";

export const PAGE = 256;

interface Props {
  value: Value;
  turn: (begin: number) => void;
  firstBad: number | null; // flat index in the shown part
}

export function ValueGrid({ value, turn, firstBad }: Props) {
  const of = taken(value.slice, value.of);
  return (
    <div class="values">
      <Pages value={value} turn={turn} firstBad={firstBad} />
      <ol class="values-grid" aria-label="Elements">
        {value.items.map((_, at) => <Cell key={at} value={value} at={at} of={of} marked={value.begin + at === firstBad} />)}
      </ol>
    </div>
  );
}

function Cell({ value, at, of, marked }: { value: Value; at: number; of: Taken[] | null; marked: boolean }) {
  const { text, bad } = element(value, at);
  return (
    <li class={`values-cell${bad ? " is-bad" : ""}${marked ? " values-marked" : ""}`}>
      <span class="faint">{of ? brackets(indexOf(value.begin + at, of)) : value.begin + at}</span>
      <span class="values-number" title={text}>{text}</span>
    </li>
  );
}

/** An element as text, whatever its dtype. */
export function element(value: Pick<Value, "items" | "texts">, at: number): { text: string; bad: boolean } {
  const item = value.items[at];
  const text = value.texts[at];
  if (item === null || item === undefined) return { text: (text ?? "?").replace("-Infinity", "−∞").replace("Infinity", "∞"), bad: /^(-?Infinity|NaN)$/.test(text ?? "") || /nan|inf/i.test(text ?? "") };
  return { text: typeof item === "number" ? (Number.isInteger(item) && Math.abs(item) < 1e15 ? count(item) : written(item)) : String(item), bad: false };
}

function Pages({ value: { begin, end, total }, turn, firstBad }: Props) {
  if (total <= PAGE && firstBad === null) return null;
  const to = (place: number): void => turn(Math.max(Math.floor(Math.min(place, total - 1) / PAGE) * PAGE, 0));
  return (
    <div class="values-pages" role="group" aria-label="Pages of elements">
      <button type="button" disabled={begin === 0} aria-label="First page" onClick={() => to(0)}>«</button>
      <button type="button" disabled={begin === 0} aria-label="Page before" onClick={() => to(begin - PAGE)}>‹</button>
      <span class="quiet">{total ? `${count(begin)} – ${count(end - 1)} of ${count(total)}` : "empty"}</span>
      <button type="button" disabled={end >= total} aria-label="Next page" onClick={() => to(begin + PAGE)}>›</button>
      <button type="button" disabled={end >= total} aria-label="Last page" onClick={() => to(total - 1)}>»</button>
      {firstBad !== null && firstBad >= 0 && <button type="button" onClick={() => to(firstBad)}>first bad</button>}
    </div>
  );
}
