/** The columns of the list; the less room, the fewer. */
import type { ComponentChildren } from "preact";
import type { TensorRow } from "../../api/types";
import { count, shape, value } from "../../widgets/format";
import { HealthBar } from "../../widgets/HealthBar";
import type { Sort } from "./filters";

export interface Column {
  id: string;
  title: string;
  /** As CSS has it. */
  width: string;
  /** Shown where the list is at least so wide. */
  from: number;
  sort?: Sort;
  right?: boolean;
  what?: string;
  cell: (row: TensorRow) => ComponentChildren;
}

const number = (text: ComponentChildren) => <span class="mono">{text}</span>;

export const COLUMNS: Column[] = [
  { id: "number", title: "#", width: "58px", from: 0, sort: "order", right: true, what: "In the order they were computed", cell: (row) => <span class="mono faint">{place(row.id)}</span> },
  { id: "step", title: "Step", width: "46px", from: 0, sort: "step", right: true, cell: (row) => number(row.step === null ? "–" : count(row.step)) },
  { id: "op", title: "Op", width: "minmax(76px, 1fr)", from: 0, sort: "op", cell: (row) => <span class={row.gradient ? "mono op-gradient" : "mono"}>{row.type}</span> },
  { id: "name", title: "Name", width: "minmax(110px, 1.8fr)", from: 560, sort: "name", cell: (row) => <span class="mono quiet" title={row.name}>{row.name}</span> },
  { id: "layer", title: "Layer", width: "minmax(70px, 1fr)", from: 380, cell: (row) => <span class="mono quiet" title={row.layer ?? ""}>{row.layer ?? row.variable ?? "–"}</span> },
  { id: "dtype", title: "Type", width: "62px", from: 660, cell: (row) => <span class="mono quiet">{row.dtype}</span> },
  { id: "shape", title: "Shape", width: "78px", from: 470, sort: "elements", right: true, cell: (row) => <span class="mono quiet" title={`${count(row.elements)} elements`}>{shape(row.shape)}</span> },
  { id: "health", title: "Health", width: "84px", from: 0, sort: "nan", what: "−, 0, +, −∞, +∞, NaN", cell: (row) => <HealthBar health={row.health} /> },
  { id: "min", title: "Min", width: "76px", from: 800, sort: "min", right: true, cell: (row) => number(value(row.health.min)) },
  { id: "mean", title: "Mean", width: "76px", from: 800, sort: "mean", right: true, cell: (row) => number(value(row.health.mean)) },
  { id: "max", title: "Max", width: "76px", from: 800, sort: "max", right: true, cell: (row) => number(value(row.health.max)) },
  { id: "line", title: "Line", width: "minmax(90px, 0.8fr)", from: 980, cell: (row) => <span class="mono faint">{row.place ? `${row.place.path.split("/").pop()}:${row.place.line}` : "–"}</span> },
];

export function columnsFor(width: number): Column[] {
  return COLUMNS.filter((column) => column.from <= width);
}

/** The number after the process; of other processes than the first, both. */
function place(id: string): string {
  const [process, at] = id.split(".");
  return process === "0" ? (at ?? id) : id;
}
