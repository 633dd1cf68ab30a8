/** The canvas of the timeline, the names of its lanes, and its pointer and key handlers. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { TensorDetail } from "../../api/types";
import { drift } from "../../state/address";
import { focus, setFocus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { useAnswer } from "../../widgets/useAnswer";
import { draw } from "./draw";
import { AXIS, fullHeight, STEPS } from "./geometry";
import { hit, type Scene } from "./hit";
import { drag, key, showAll, wheel } from "./input";
import { LaneNames } from "./LaneNames";
import { palette } from "../../widgets/palette";
import { rowsOf, sceneOf } from "./scene";
import { bins, points, scalar, turned, view } from "./state";
import { summary } from "./summary";
import { Tooltip } from "./Tooltip";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { useWheel } from "../../widgets/useWheel";

export function Chart() {
  const size = useSignal<Size>({ width: 0, height: 0 });
  const scroll = useSignal(0);
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const detail = useAnswer<TensorDetail>(focus.value === null ? null : ofRun(`tensors/${focus.value}`)).value;
  const moment = useSignal<{ time: number; lane: string } | null>(null);
  useEffect(() => void (moment.value = detail && { time: detail.time, lane: detail.lane }), [detail]);

  const scene = (): Scene | null => {
    const timeline = bins.value;
    if (!timeline || !size.value.width) return null;
    const known = { timeline, view: view.value, turned: turned.value, points: points.value, plotted: scalar.value !== null, label: scalar.value?.label ?? "" };
    return sceneOf(known, size.value.width, size.value.height, scroll.value);
  };
  const { canvas, paint } = useCanvas(size, (context) => {
    const now = scene();
    if (now) draw(context, now, { focus: moment.value, pointer: pointer.value?.x ?? null }, palette());
  });
  useSignalEffect(paint);
  useWheel(canvas, (event, x) => wheel(event, x, size.peek().width));

  const now = scene();
  const rows = bins.value ? rowsOf(bins.value, turned.value) : [];
  const under = now && pointer.value ? hit(now, pointer.value.x, pointer.value.y) : null;
  const held = useRef<{ moved: () => boolean } | null>(null);
  const at = (event: PointerEvent | MouseEvent) => ({ x: event.offsetX, y: event.offsetY });
  const first = useRef<string | null>(null); // the focus before a double click, whose first click changes it
  const click = (event: MouseEvent): void => {
    if (event.detail === 1) first.current = focus.peek();
    if (event.detail === 1 && !held.current?.moved() && under?.tensor) setFocus(under.tensor);
  };
  const reset = (): void => {
    showAll();
    if (first.current !== focus.peek()) drift({ tensor: first.current });
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && under?.tensor) setFocus(under.tensor);
    else if (!key(event, moment.peek()?.time)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="timeline-scroll" ref={box} onScroll={(event) => (scroll.value = event.currentTarget.scrollTop)}>
      <div class="timeline-full" style={{ height: now ? `${fullHeight(now.geometry, rows)}px` : "100%" }}>
        <LaneNames rows={rows} top={now?.geometry.lanes.top ?? AXIS + STEPS} />
        <div class="timeline-sticky" tabIndex={0} role="group" onKeyDown={press}
          aria-label="Timeline. Left and right pan, plus and minus zoom, Home shows all, Enter focuses what is under the pointer.">
          <canvas ref={canvas} role="img" aria-label={bins.value ? summary(bins.value) : "Timeline"}
            onPointerMove={(event) => (pointer.value = at(event))}
            onPointerLeave={() => (pointer.value = null)}
            onPointerDown={(event) => event.button === 0 && (held.current = drag(event, size.peek().width, (by) => (box.current!.scrollTop += by)))}
            onClick={click} onDblClick={reset} />
          {under && pointer.value && !held.current?.moved() && <Tooltip hit={under} at={pointer.value} room={size.value} />}
        </div>
      </div>
    </div>
  );
}
