/** The list of all computed tensors, of any length. */
import { useEffect, useRef } from "preact/hooks";
import type { TensorDetail } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { showPanel } from "../../state/panels";
import { run } from "../../state/run";
import { many } from "../../widgets/format";
import { Empty } from "../../widgets/Empty";
import { ErrorBox } from "../../widgets/ErrorBox";
import { useAnswer } from "../../widgets/useAnswer";
import { useRows } from "../../widgets/useRows";
import { useWidth } from "../../widgets/useWidth";
import { columnsFor } from "./columns";
import { FilterBar } from "./FilterBar";
import { clearFilters, filtered } from "./filters";
import { HeadRow } from "./HeadRow";
import { Row } from "./Row";
import { useList, type List } from "./useList";
import { useMove } from "./useMove";
import "./tensors.css";

const ROW = 24;

export function Tensors() {
  const list = useList();
  return (
    <div class="tensors">
      <FilterBar />
      {list.error ? <ErrorBox error={list.error} /> : list.pages.total === 0 ? <None /> : <Table list={list} />}
      <Foot list={list} />
    </div>
  );
}

function Table({ list }: { list: List }) {
  const ref = useRef<HTMLDivElement>(null);
  const known = list.pages.total;
  const total = known ?? 0;
  const columns = columnsFor(useWidth(ref, 460), run.value);
  const rows = useRows(ref, total, ROW);
  useEffect(() => void (total > 0 && list.pages.need(rows.begin, rows.end)), [list.pages, list.pages.version.value, rows.begin, rows.end]);
  useScrollToFocus(list, known, rows.show);
  const inputs = useInputs();
  const move = useMove(list, rows.show);
  const drawn = Array.from({ length: rows.end - rows.begin }, (_, n) => rows.begin + n);
  return (
    <div
      class="list"
      id="tensors"
      role="grid"
      tabIndex={0}
      aria-label="Tensors"
      aria-rowcount={total + 1}
      aria-activedescendant={list.at !== null && list.at >= 0 ? `row-${list.at}` : undefined}
      style={{ "--columns": columns.map((column) => column.width).join(" ") }}
      onKeyDown={(event) => press(event, move, rows.fit, total)}
    >
      <HeadRow columns={columns} />
      <div class="list-scroll" ref={ref} tabIndex={-1} role="rowgroup">
        <div class="list-all" style={{ height: `${rows.height}px` }}>
          <div class="list-drawn" style={{ transform: `translateY(${rows.top}px)` }}>
            {drawn.map((index) => {
              const row = list.pages.row(index);
              return <Row key={index} index={index} row={row} columns={columns} focused={row !== undefined && row.id === focus.value} input={row !== undefined && inputs.has(row.id)} />;
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

/**
 * When the focus moves, the list follows, even if filters change at the same time. If only filters or order change, the list shows its
 * beginning; a list that grows stays. Everything here uses the state that was drawn: the address and the rows may have changed since.
 */
function useScrollToFocus(list: List, total: number | null, show: (index: number, edge?: boolean) => void): void {
  const followed = useRef<string | null | undefined>(undefined);
  const now = focus.value;
  useEffect(() => {
    if (!list.settled || list.at === null || list.at < 0 || total === null || followed.current === now) return;
    followed.current = now;
    show(list.at);
  }, [list.at, list.key, list.settled, total, now]);
}

function useInputs(): Set<string> {
  const detail = useAnswer<TensorDetail>(focus.value === null ? null : ofRun(`tensors/${focus.value}`)).value;
  return new Set(detail?.inputs.map((input) => input.id).filter((id): id is string => id !== null));
}

function press(event: KeyboardEvent, move: (by: number) => void, fit: number, total: number): void {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: fit, PageUp: -fit, Home: -total, End: total }[event.key];
  if (event.key === "Enter" && event.target === event.currentTarget) showPanel("tensor", { tensor: focus.peek() });
  if (by === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  move(by);
}

function None() {
  if (filtered.value) {
    return (
      <Empty title="No tensor is like that.">
        Loosen a filter, or <button class="link" onClick={clearFilters}>clear them all</button>.
      </Empty>
    );
  }
  if (run.value?.live) return <Empty title="Nothing computed yet">The program is running. Tensors appear here as TensorFlow computes them.</Empty>;
  return <Empty title="Nothing was recorded" command="sleuth info">TensorFlow computed no recorded tensor here. What was recorded, and what was not covered:</Empty>;
}

function Foot({ list }: { list: List }) {
  return (
    <footer class="list-foot faint">
      <span>{list.pages.total === null ? "…" : many(list.pages.total, "tensor")}</span>
      {list.at === -1 && (
        <span>
          The one in focus is filtered out. <button class="link" onClick={clearFilters}>Show it</button>
        </span>
      )}
    </footer>
  );
}
