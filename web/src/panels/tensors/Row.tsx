/** One tensor in the list. */
import type { TensorRow } from "../../api/types";
import { setFocus } from "../../state/focus";
import type { Column } from "./columns";

interface Props {
  index: number;
  row: TensorRow | undefined;
  columns: Column[];
  focused: boolean;
  /** An input of the tensor in focus. */
  input: boolean;
}

export function Row({ index, row, columns, focused, input }: Props) {
  if (!row) return <div class="row row-waiting" role="row" aria-rowindex={index + 2} />;
  const classes = ["row", focused && "row-focused", input && "row-input", row.health.bad && "row-bad"].filter(Boolean).join(" ");
  return (
    <div id={`row-${index}`} class={classes} role="row" aria-rowindex={index + 2} aria-selected={focused} title={input ? `${row.name}: goes into the tensor in focus` : undefined} onClick={() => setFocus(row.id)}>
      {columns.map((column) => (
        <span key={column.id} role="gridcell" class={`cut cell-${column.id}${column.right ? " right" : ""}`}>
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
}
