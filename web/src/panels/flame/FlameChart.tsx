/** The canvas of the flame chart, and what the pointer and the keys do there. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Flame } from "../../api/types";
import { focus, setFocus } from "../../state/focus";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { useWheel } from "../../widgets/useWheel";
import { Tooltip } from "../timeline/Tooltip";
import { draw } from "./draw";
import { drag, key, wheel } from "./input";
import { barAt, boxes, tops } from "./layout";
import { setView, view, whole } from "./state";
import { summary, told } from "./words";

export function FlameChart({ flame }: { flame: Flame }) {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const held = useRef<{ moved: () => boolean } | null>(null);
  const all = size.value.width ? boxes(flame, view.value, size.value.width) : [];
  const under = pointer.value ? barAt(all, pointer.value.x, pointer.value.y) : null;
  const { canvas, paint } = useCanvas(size, (context) => {
    const { width, height } = size.value;
    const now = boxes(flame, view.value, width);
    const at = pointer.value;
    draw(context, { boxes: now, view: view.value, width, height, focus: focus.value, under: at && barAt(now, at.x, at.y) });
  });
  useSignalEffect(paint);
  useWheel(canvas, (event, x) => wheel(event, x, size.peek().width));
  const choose = (): void => void (under?.tensor && !held.current?.moved() && setFocus(under.tensor));
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") choose();
    else if (!key(event)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const high = tops(flame.lanes).at(-1)!;
  return (
    <div class="flame-scroll" ref={box} tabIndex={0} role="group" onKeyDown={press}
      aria-label="Flame chart. Left and right pan, plus and minus zoom, Home shows the whole step, Enter focuses what is under the pointer.">
      <LaneNames flame={flame} />
      <div class="flame-plot" style={{ height: `${high}px` }}>
        <canvas ref={canvas} role="img" aria-label={summary(flame)}
          onPointerMove={(event) => (pointer.value = { x: event.offsetX, y: event.offsetY })}
          onPointerLeave={() => (pointer.value = null)}
          onPointerDown={(event) => event.button === 0 && (held.current = drag(event, size.peek().width, (by) => (box.current!.scrollTop += by)))}
          onClick={choose} onDblClick={() => setView(null)} />
        {under && pointer.value && !held.current?.moved() && (
          <Tooltip hit={{ words: told(under, whole.value.to), tensor: under.tensor, bad: false }} at={pointer.value} room={size.value} />
        )}
      </div>
    </div>
  );
}

function LaneNames({ flame }: { flame: Flame }) {
  const top = tops(flame.lanes);
  return (
    <ul class="flame-names" style={{ height: `${top.at(-1)}px` }}>
      {flame.lanes.map((lane, at) => (
        <li key={lane.name} class="cut" style={{ top: `${top[at]}px` }} title={lane.name}>{lane.name}</li>
      ))}
    </ul>
  );
}
