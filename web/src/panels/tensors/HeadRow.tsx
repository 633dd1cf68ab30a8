/** The titles of the columns; a click sorts. */
import type { Column } from "./columns";
import { sort, sortBy } from "./filters";

export function HeadRow({ columns }: { columns: Column[] }) {
  return (
    <div class="list-head" role="row">
      {columns.map((column) => (
        <span key={column.id} role="columnheader" class={`cell-${column.id}${column.right ? " right" : ""}`} aria-sort={direction(column)}>
          <Title column={column} />
        </span>
      ))}
    </div>
  );
}

function Title({ column }: { column: Column }) {
  const by = column.sort;
  if (!by) return <span title={column.what}>{column.title}</span>;
  return (
    <button class="plain head-button" title={`${column.what ?? column.title}; click to sort`} onClick={() => sortBy(by)}>
      {column.title}
      {sort.value.by === by && (by !== "order" || sort.value.descending) && <span aria-hidden="true">{sort.value.descending ? " ↓" : " ↑"}</span>}
    </button>
  );
}

function direction(column: Column): "ascending" | "descending" | "none" | undefined {
  if (!column.sort) return undefined;
  if (sort.value.by !== column.sort) return "none";
  return sort.value.descending ? "descending" : "ascending";
}
