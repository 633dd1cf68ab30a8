/** All heads of an attention as small pictures, with the enlarged one marked. */
import { useEffect, useRef } from "preact/hooks";
import type { AttentionItem, Thumbs as Answer } from "../../api/inside";
import { unpackedBytes } from "../../api/inside";
import { theme } from "../../state/theme";
import { DARK, LIGHT } from "../tensor/colour";
import { picture, pixels } from "./draw";
import { choose, type Choice, move } from "./state";
import { BAD } from "./WeightMap";

interface Props {
  thumbs: Answer;
  choice: Choice;
  items: AttentionItem[];
}

export function Thumbs({ thumbs, choice, items }: Props) {
  const press = (event: KeyboardEvent): void => {
    if (!move(event.key, items, choice)) return;
    event.preventDefault();
    event.stopPropagation();
    requestAnimationFrame(() => document.querySelector<HTMLElement>(".attention-thumb[aria-checked=true]")?.focus());
  };
  return (
    <div class="attention-thumbs" role="radiogroup" aria-label="Heads. Left and right: heads. Up and down: layers. Page up and page down: steps." onKeyDown={press}>
      {thumbs.heads.map((head, at) => (
        <button key={at} type="button" class="plain attention-thumb" role="radio" aria-checked={at === choice.head} aria-label={`Head ${at}`} title={`Head ${at}`} tabIndex={at === choice.head ? 0 : -1} onClick={() => choose({ head: at })}>
          <Small text={head} rows={thumbs.rows} columns={thumbs.columns} />
          <span class="attention-number">{at}</span>
        </button>
      ))}
    </div>
  );
}

function Small({ text, rows, columns }: { text: string; rows: number; columns: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const now = theme.value;
  useEffect(() => {
    const image = picture(rows, columns, pixels(unpackedBytes(text), 255, now === "dark" ? DARK : LIGHT, BAD[now]));
    const context = canvas.current?.getContext("2d");
    if (image) context?.drawImage(image, 0, 0);
  }, [text, now]);
  return <canvas ref={canvas} width={columns} height={rows} aria-hidden="true" />;
}
