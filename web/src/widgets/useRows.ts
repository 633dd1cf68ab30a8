/** The visible rows of a long list, as its element scrolls and changes size. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollTo, sight, type Sight } from "./rows";

export interface Rows extends Sight {
  /** Scrolls a row into view; `edge`: by as little as possible. */
  show: (index: number, edge?: boolean) => void;
  /** How many rows fit. */
  fit: number;
}

export function useRows(ref: { current: HTMLElement | null }, count: number, row: number): Rows {
  const [at, setAt] = useState({ top: 0, room: 0 });
  const shown = useRef({ index: -1, top: -1 });
  const look = (): void => {
    const [top, room] = [ref.current?.scrollTop ?? 0, ref.current?.clientHeight ?? 0];
    setAt((old) => (old.top === top && old.room === room ? old : { top, room }));
  };
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watch = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(look);
    watch?.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      watch?.disconnect();
    };
  }, []);
  const show = (index: number, edge = false): void => {
    const element = ref.current;
    if (!element) return;
    element.scrollTop = scrollTo(index, element.scrollTop, element.clientHeight, count, row, edge);
    shown.current = { index, top: element.scrollTop };
    look();
  };
  // A row that was scrolled into view stays visible when the list shrinks, because panels above it appear later.
  useLayoutEffect(() => {
    if (shown.current.index >= 0 && shown.current.top === ref.current?.scrollTop) show(shown.current.index);
  }, [at.room]);
  return { ...sight(at.top, at.room, count, row), show, fit: Math.max(1, Math.floor(at.room / row)) };
}
