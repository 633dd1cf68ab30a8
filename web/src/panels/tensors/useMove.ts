/** Moves the focus by rows, and waits for rows that are not loaded: a key pressed early is not lost, and never leads elsewhere. */
import { useEffect, useRef } from "preact/hooks";
import { focus, slideFocus } from "../../state/focus";
import { moveInList } from "../../state/keys";
import type { List } from "./useList";

export function useMove(list: List, show: (index: number, edge?: boolean) => void): (by: number) => void {
  const waiting = useRef(0);
  const move = (by: number): void => {
    const here = place(list);
    const total = list.pages.total ?? 0;
    const next = Math.min(total - 1, Math.max(0, (here ?? 0) + by));
    const row = here === null ? undefined : list.pages.row(next);
    waiting.current = row || list.pages.total === 0 ? 0 : by;
    if (here !== null && total > 0) show(next, true);
    if (row) slideFocus(row.id);
  };
  useEffect(() => {
    moveInList.by = (by) => move(waiting.current + by);
    return () => void (moveInList.by = null);
  });
  useEffect(() => {
    if (waiting.current !== 0) move(waiting.current);
  }, [list.at, list.pages.version.value]);
  return (by) => move(waiting.current + by);
}

/** The row in focus; -1 if it is not in the list or there is none; null while unknown. */
function place(list: List): number | null {
  if (focus.peek() === null) return -1;
  const here = list.pages.find((row) => row.id === focus.peek());
  return here >= 0 ? here : list.at;
}
