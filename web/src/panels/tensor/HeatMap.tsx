/** A matrix as colours. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Value } from "../../api/types";
import { theme } from "../../state/theme";
import { type Cell, walked } from "../../widgets/cells";
import { palette } from "../../widgets/palette";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { DARK, LIGHT, range } from "./colour";
import { drawHeat } from "./drawheat";
import { cellSize, cellWords, type Heat, heatSummary } from "./heat";
import { HeatLegend } from "./HeatLegend";

export function HeatMap({ value, heat }: { value: Value; heat: Heat }) {
  const box = useRef<HTMLDivElement>(null);
  const room = useSignal(0);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const cursor = useSignal<Cell | null>(null);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => (room.value = Math.floor(entry!.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const { wide, high } = cellSize(heat, Math.max(room.value, 1));
  const ends = theme.value === "dark" ? DARK : LIGHT;
  const scale = range(heat.low, heat.high);
  const { canvas, paint } = useCanvas(size, (context) => drawHeat(context, heat, cellSize(heat, Math.max(room.value, 1)), scale, theme.value === "dark" ? DARK : LIGHT, palette(), cursor.value));
  useSignalEffect(paint);
  useEffect(paint, [heat]);

  const at = (event: PointerEvent): Cell => ({ row: clamp(event.offsetY / high, heat.rows), column: clamp(event.offsetX / wide, heat.columns) });
  const press = (event: KeyboardEvent): void => {
    const next = walked(event.key, cursor.peek(), heat.rows, heat.columns);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    cursor.value = next;
  };
  return (
    <div class="heat" ref={box}>
      <div class="heat-focus" tabIndex={0} role="group" aria-label="Heat map. Arrows go from cell to cell." onKeyDown={press} onBlur={() => (cursor.value = null)}>
        <canvas ref={canvas} role="img" aria-label={heatSummary(heat, value.shape)} style={{ width: `${wide * heat.columns}px`, height: `${high * heat.rows}px` }}
          onPointerMove={(event) => (cursor.value = at(event))} onPointerLeave={() => (cursor.value = null)} />
      </div>
      <p class="heat-now mono" aria-live="polite">{cursor.value ? cellWords(value, heat, cursor.value.row, cursor.value.column) : " "}</p>
      <HeatLegend heat={heat} scale={scale} ends={ends} />
    </div>
  );
}

const clamp = (at: number, length: number): number => Math.max(Math.min(Math.floor(at), length - 1), 0);
