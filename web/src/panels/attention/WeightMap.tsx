/** The weights of one head as colours: a row for each query, a column for each key. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { unpacked, type Weights } from "../../api/inside";
import { theme } from "../../state/theme";
import { type Cell, walked } from "../../widgets/cells";
import { value } from "../../widgets/format";
import { palette } from "../../widgets/palette";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { useWidth } from "../../widgets/useWidth";
import { colour, css, DARK, type Ends, LIGHT } from "../tensor/colour";
import { drawWeights, type Frame, frame, picture, pixels } from "./draw";
import { blocks, cellWords, facts, summary } from "./words";

export const BAD: Record<"dark" | "light", readonly [number, number, number]> = { dark: [255, 92, 92], light: [200, 30, 30] };

export function WeightMap({ weights }: { weights: Weights }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 320);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const cursor = useSignal<Cell | null>(null);
  const cells = useMemo(() => unpacked(weights.cells), [weights.cells]);
  const largest = cells.reduce((most, one) => (one > most ? one : most), 0);
  const ends = theme.value === "dark" ? DARK : LIGHT;
  const image = useMemo(() => picture(weights.rows, weights.columns, pixels(cells, largest, ends, BAD[theme.value])), [cells, theme.value]);
  const at = frame(weights, width);
  const { canvas, paint } = useCanvas(size, (context) => drawWeights(context, weights, image, at, palette(), cursor.value));
  useSignalEffect(() => (void cursor.value, paint()));
  useEffect(paint, [weights, image, width]);
  const press = (event: KeyboardEvent): void => {
    const next = walked(event.key, cursor.peek(), weights.rows, weights.columns);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    cursor.value = next;
  };
  const now = cursor.value && inside(cursor.value, weights) ? cellWords(weights, cells, cursor.value.row, cursor.value.column) : null;
  return (
    <div class="weights" ref={box}>
      <p class="heat-now mono" aria-live="polite">{now ?? <span class="faint">rows are queries, columns are keys</span>}</p>
      <div class="heat-focus" tabIndex={0} role="group" aria-label="Heat map. Arrows go from cell to cell." onKeyDown={press} onBlur={() => (cursor.value = null)}>
        <canvas ref={canvas} role="img" aria-label={summary(weights)} style={{ width: `${at.left + at.cell * weights.columns + 1}px`, height: `${at.top + at.cell * weights.rows + 1}px` }}
          onPointerMove={(event) => (cursor.value = cellAt(event, at, weights))} onPointerLeave={() => (cursor.value = null)} />
      </div>
      <Legend largest={largest} ends={ends} bad={cells.some((one) => !Number.isFinite(one))} />
      <p class="quiet attention-note" title="Over all samples of the batch">{facts(weights)}</p>
      {blocks(weights) && <p class="quiet attention-note">{blocks(weights)}</p>}
    </div>
  );
}

const STEPS = 11;

/** Colours follow the square root, so the middle of the scale is a quarter of the largest weight. */
function Legend({ largest, ends, bad }: { largest: number; ends: Ends; bad: boolean }) {
  return (
    <div class="heat-legend">
      <span>0</span>
      <span class="heat-scale" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, at) => <span key={at} title={value((at / (STEPS - 1)) ** 2 * largest)} style={{ background: css(colour(at / (STEPS - 1), ends)) }} />)}
      </span>
      <span>{value(largest)}</span>
      <span class="faint">middle {value(largest / 4)}</span>
      {bad && <span class="heat-mark"><span class="heat-bad" aria-hidden="true">×</span> not finite</span>}
    </div>
  );
}

const inside = ({ row, column }: Cell, { rows, columns }: Weights): boolean => row < rows && column < columns;

function cellAt(event: PointerEvent, at: Frame, weights: Weights): Cell | null {
  const [row, column] = [Math.floor((event.offsetY - at.top) / at.cell), Math.floor((event.offsetX - at.left) / at.cell)];
  return row >= 0 && column >= 0 && row < weights.rows && column < weights.columns ? { row, column } : null;
}
