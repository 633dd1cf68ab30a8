/** The rows of a long list that are in sight, as its element scrolls and changes size. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { scrollTo, sight, type Sight } from "./rows";

export interface Rows extends Sight {
  /** Bring a row into sight; `edge`: by as little as can be. */
  show: (index: number, edge?: boolean) => void;
  /** How many rows fit. */
  fit: number;
}

export function useRows(ref: { current: HTMLElement | null }, count: number, row: number): Rows {
  const [at, setAt] = useState({ top: 0, room: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const look = (): void => setAt((old) => (old.top === element.scrollTop && old.room === element.clientHeight ? old : { top: element.scrollTop, room: element.clientHeight }));
    look();
    element.addEventListener("scroll", look, { passive: true });
    const watch = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(look);
    watch?.observe(element);
    return () => {
      element.removeEventListener("scroll", look);
      watch?.disconnect();
    };
  }, []);
  const [wanted, want] = useState<{ index: number; edge: boolean } | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (!wanted || !element || count === 0) return;
    element.scrollTop = scrollTo(wanted.index, element.scrollTop, element.clientHeight, count, row, wanted.edge);
    want(null);
  }, [wanted, count > 0]);
  return { ...sight(at.top, at.room, count, row), show: (index, edge = false) => want({ index, edge }), fit: Math.max(1, Math.floor(at.room / row)) };
}
