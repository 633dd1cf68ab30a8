/** The columns of the list; a narrow list has fewer. */
import type { ComponentChildren } from "preact";
import type { Run, TensorRow } from "../../api/types";
import { count, shape, value } from "../../widgets/format";
import { HealthBar } from "../../widgets/HealthBar";
import type { Sort } from "./filters";

export interface Column {
  id: string;
  title: string;
  /** As CSS has it. */
  width: string;
  /** Shown if the list is at least that wide. */
  from: number;
  /** … and less wide than this. */
  until?: number;
  sort?: Sort;
  right?: boolean;
  what?: string;
  cell: (row: TensorRow) => ComponentChildren;
}

/** If a name does not fit, its end is shown, which distinguishes it from others. */
const ending = (name: string) => (
  <span class="cut-left mono quiet" title={name}>
    <bdi>{name}</bdi>
  </span>
);
const number = (text: ComponentChildren) => <span class="mono">{text}</span>;

export const COLUMNS: Column[] = [
  { id: "number", title: "#", width: "58px", from: 0, sort: "order", right: true, what: "In the order they were computed", cell: (row) => <span class="mono faint">{place(row.id)}</span> },
  { id: "step", title: "Step", width: "46px", from: 0, sort: "step", right: true, cell: (row) => number(row.step === null ? "–" : count(row.step)) },
  { id: "op", title: "Op", width: "minmax(96px, 1fr)", from: 0, sort: "op", cell: (row) => <span class={row.gradient ? "mono op-gradient" : "mono"}>{row.type}</span> },
  { id: "name", title: "Name", width: "minmax(110px, 1.8fr)", from: 700, sort: "name", cell: (row) => ending(row.name) },
  { id: "where", title: "Layer or name", width: "minmax(70px, 1.2fr)", from: 380, until: 700, cell: (row) => ending(row.layer ?? row.variable ?? row.name) },
  { id: "layer", title: "Layer", width: "minmax(70px, 1.2fr)", from: 700, cell: (row) => ending(row.layer ?? row.variable ?? "–") },
  { id: "dtype", title: "Type", width: "62px", from: 760, cell: (row) => <span class="mono quiet">{row.dtype}</span> },
  { id: "shape", title: "Shape", width: "78px", from: 470, sort: "elements", right: true, cell: (row) => <span class="mono quiet" title={`${count(row.elements)} elements`}>{shape(row.shape)}</span> },
  { id: "health", title: "Health", width: "84px", from: 0, sort: "nan", what: "−, 0, +, −∞, +∞, NaN", cell: (row) => <HealthBar health={row.health} /> },
  { id: "min", title: "Min", width: "76px", from: 880, sort: "min", right: true, cell: (row) => number(value(row.health.min)) },
  { id: "mean", title: "Mean", width: "76px", from: 880, sort: "mean", right: true, cell: (row) => number(value(row.health.mean)) },
  { id: "max", title: "Max", width: "76px", from: 880, sort: "max", right: true, cell: (row) => number(value(row.health.max)) },
  { id: "line", title: "Line", width: "minmax(130px, 0.8fr)", from: 980, cell: (row) => ending(row.place ? `${row.place.path.split("/").pop()}:${row.place.line}` : "–") },
];

/** The columns that fit; if the run examined no values, shapes instead of health. */
export function columnsFor(width: number, run: Pick<Run, "layers" | "records"> | null): Column[] {
  const blind = run !== null && !run.records.health;
  const without = new Set([...(run?.layers.length === 0 ? ["layer"] : []), ...(blind ? ["health", "min", "mean", "max"] : [])]);
  const fits = (column: Column): boolean => width >= (blind && column.id === "shape" ? 380 : column.from) && width < (column.until ?? Infinity);
  return COLUMNS.filter((column) => !without.has(column.id) && fits(column));
}

/** The number after the process; for other processes than the first, both. */
function place(id: string): string {
  const [process, at] = id.split(".");
  return process === "0" ? (at ?? id) : id;
}
