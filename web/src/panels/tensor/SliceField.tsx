/** The slice of a value, in NumPy's syntax. The server validates it. */
import { useEffect, useRef } from "preact/hooks";
import type { TensorDetail } from "../../api/types";
import { firstMatrix, matrixAt } from "./slice";

interface Props {
  tensor: TensorDetail;
  slice: string;
  choose: (text: string) => void;
  wrong: boolean;
}

export function SliceField({ tensor, slice, choose, wrong }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = slice;
  }, [slice]);
  const submit = (event: Event): void => {
    event.preventDefault();
    choose(field.current!.value);
  };
  return (
    <form class="slice" onSubmit={submit}>
      <label>
        <span class="unseen">Slice</span>
        <input ref={field} class="mono" spellcheck={false} autocomplete="off" placeholder={`slice: ${example(tensor.shape ?? [])}`} defaultValue={slice} aria-invalid={wrong} />
      </label>
      {offers(tensor).map(({ text, title }) => (
        <button key={text} type="button" class="mono" title={title} aria-pressed={slice === text} onClick={() => take(field.current!, text, choose)}>{text || "all"}</button>
      ))}
    </form>
  );
}

function take(field: HTMLInputElement, text: string, choose: (text: string) => void): void {
  field.value = text;
  choose(text);
}

/** "[0, :, 3:9]", for a shape. */
function example(shape: readonly number[]): string {
  if (shape.length === 1) return "[:10]";
  return `[${shape.map((_, at) => (at === 0 ? "0" : at === shape.length - 1 ? ":10" : ":")).join(", ")}]`;
}

/** Presets: all; for more than two dimensions, the first matrix and the one with the first bad element. */
function offers({ shape, health }: TensorDetail): { text: string; title: string }[] {
  if (!shape || shape.length < 3) return [{ text: "", title: "The whole value" }];
  const bad = health.firstBad !== null && health.firstBad >= 0 ? [{ text: matrixAt(health.firstBad, shape), title: "The matrix with the first bad element" }] : [];
  const all = [{ text: "", title: "The whole value" }, { text: firstMatrix(shape), title: "The first matrix" }, ...bad];
  return all.filter(({ text }, at) => all.findIndex((other) => other.text === text) === at);
}
