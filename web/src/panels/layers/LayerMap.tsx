/** Layers by steps as colours; a click or Enter goes to the layer. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Layers, Measure } from "../../api/inside";
import { goTo } from "../../state/inside";
import { theme } from "../../state/theme";
import { type Cell, walked } from "../../widgets/cells";
import { sharedScopes } from "../../widgets/names";
import { palette } from "../../widgets/palette";
import { type Size, useCanvas } from "../../widgets/useCanvas";
import { useWidth } from "../../widgets/useWidth";
import { colour, css, DARK, type Ends, LIGHT } from "../tensor/colour";
import { AXIS, drawLayers, type Frame, frame } from "./draw";
import { marks, position, type Scale, scaleOf } from "./scale";
import { type Cells, cellWords, number, summary } from "./words";

interface Props {
  layers: Layers;
  cells: Cells;
  drawn: Measure;
}

export function LayerMap({ layers, cells, drawn }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box, 320);
  const size = useSignal<Size>({ width: 0, height: 0 });
  const cursor = useSignal<Cell | null>(null);
  const numbers = cells.measures[drawn]!;
  const scale = scaleOf(drawn, numbers);
  const ends = theme.value === "dark" ? DARK : LIGHT;
  const scopes = sharedScopes(layers.rows.map((row) => row.name));
  const at = frame(layers, scopes, width);
  const { canvas, paint } = useCanvas(size, (context) => drawLayers(context, layers, numbers, cells.bad, scale, at, ends, palette(), cursor.value));
  useSignalEffect(() => (void cursor.value, paint()));
  useEffect(paint, [layers, drawn, width, theme.value]);
  const visit = ({ row, column }: Cell): void => void goTo(layers.rows[row]!.id, layers.steps[column]!, layers.rows[row]!.place);
  const press = (event: KeyboardEvent): void => {
    const next = event.key === "Enter" ? cursor.peek() : walked(event.key, cursor.peek(), layers.rows.length, layers.steps.length, { row: 0, column: layers.steps.length - 1 });
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") visit(next);
    else cursor.value = next;
  };
  const here = cursor.value !== null && cursor.value.row < layers.rows.length && cursor.value.column < layers.steps.length ? cursor.value : null;
  return (
    <div class="layers-map" ref={box}>
      <p class="heat-now" aria-live="polite">{here ? cellWords(layers, cells, drawn, here.row, here.column) : <span class="faint">{hint(scopes)}</span>}</p>
      <div tabIndex={0} role="group" aria-label="Picture. Arrows go from cell to cell, Enter goes to the layer." onKeyDown={press} onBlur={() => (cursor.value = null)}>
        <canvas ref={canvas} role="img" aria-label={summary(layers, drawn)} style={{ width: `${Math.ceil(at.left + at.wide * layers.steps.length) + 1}px`, height: `${at.high * layers.rows.length + AXIS}px` }}
          onPointerMove={(event) => (cursor.value = cellAt(event, at, layers))} onPointerLeave={() => (cursor.value = null)}
          onClick={(event) => { const cell = cellAt(event, at, layers); if (cell) visit(cell); }} />
      </div>
      <Legend scale={scale} drawn={drawn} ends={ends} bad={cells.bad !== null} known={numbers.some(Number.isFinite)} gaps={numbers.some((one, cell) => Number.isNaN(one) && !cells.bad?.[cell])} />
    </div>
  );
}

function hint(scopes: string): string {
  return `a row each, steps to the right; a click goes to its line${scopes && `. All are in ${scopes}/`}`;
}

const SWATCHES = 11;
const EMPTY: Partial<Record<Measure, string>> = { dead: "empty: not of a Relu", saturated: "empty: not of tanh or sigmoid" };

interface LegendProps {
  scale: Scale;
  drawn: Measure;
  ends: Ends;
  bad: boolean;
  known: boolean; // whether any cell has a number
  gaps: boolean;
}

function Legend({ scale, drawn, ends, bad, known, gaps }: LegendProps) {
  return (
    <div class="heat-legend">
      {known && <Swatches scale={scale} drawn={drawn} ends={ends} />}
      {bad && <span class="heat-mark"><span class="heat-bad" aria-hidden="true">×</span> holds NaN or ∞</span>}
      {gaps && <span class="faint">{EMPTY[drawn] ?? "empty: not sampled"}</span>}
    </div>
  );
}

/** One swatch where all numbers are 0. */
function Swatches({ scale, drawn, ends }: Pick<LegendProps, "scale" | "drawn" | "ends">) {
  const all = marks(scale, scale.signed ? 6 : SWATCHES);
  return (
    <>
      <span>{number(drawn, all[0]!)}</span>
      <span class="heat-scale" aria-hidden="true">
        {all.map((one, at) => <span key={at} title={number(drawn, one)} style={{ background: css(colour(position(one, scale), ends)) }} />)}
      </span>
      {all.length > 1 && <span>{number(drawn, all.at(-1)!)}</span>}
      {scale.log && all.length > 1 && <span class="faint">{scale.signed ? `logarithmic, ±${number(drawn, scale.low)} in the middle` : "logarithmic"}</span>}
    </>
  );
}

/** The cell at a point; on the names at the left, the cell of the last sample. */
function cellAt(event: PointerEvent | MouseEvent, at: Frame, { rows, steps }: Layers): Cell | null {
  const row = Math.floor(event.offsetY / at.high);
  const column = event.offsetX < at.left ? steps.length - 1 : Math.floor((event.offsetX - at.left) / at.wide);
  return row >= 0 && row < rows.length && column < steps.length ? { row, column } : null;
}
