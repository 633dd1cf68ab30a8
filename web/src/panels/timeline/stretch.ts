/** Wheel, drag and keys on a chart of a stretch of time: the timeline, the flame chart. */
import type { ReadonlySignal } from "@preact/signals";
import { pan, toTime, type View, zoom } from "./view";

const IN = 0.8; // zoom factor of a key or button

/** The visible part of the whole, and how to change it; null shows all. */
export interface Stretch {
  view: ReadonlySignal<View>;
  whole: ReadonlySignal<View>;
  setView: (next: View | null) => void;
}

export function input({ view, whole, setView }: Stretch) {
  const zoomBy = (factor: number, at?: number): void => {
    const { from, to } = view.peek();
    setView(zoom(view.peek(), whole.peek(), at ?? (from + to) / 2, factor));
  };
  const panBy = (share: number): void => {
    const { from, to } = view.peek();
    setView(pan(view.peek(), whole.peek(), (to - from) * share));
  };
  const zoomIn = (at?: number): void => zoomBy(IN, at);
  const zoomOut = (at?: number): void => zoomBy(1 / IN, at);
  const showAll = (): void => setView(null);

  const KEYS: Record<string, (share: number, at?: number) => void> = {
    ArrowLeft: (share) => panBy(-share),
    ArrowRight: (share) => panBy(share),
    ArrowUp: (_, at) => zoomIn(at),
    ArrowDown: (_, at) => zoomOut(at),
    "+": (_, at) => zoomIn(at),
    "=": (_, at) => zoomIn(at),
    "-": (_, at) => zoomOut(at),
    _: (_, at) => zoomOut(at),
    Home: showAll,
    End: () => panBy(Infinity),
  };

  /** Handles a key; returns false if it does nothing. `at`: zoom around this moment. */
  function key(event: KeyboardEvent, at?: number): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const act = KEYS[event.key];
    act?.(event.shiftKey ? 0.5 : 0.12, at);
    return act !== undefined;
  }

  /** Handles the wheel; sideways pans. Trackpads send many small turns, and a pinch comes with ctrl. */
  function wheel(event: WheelEvent, x: number, width: number): void {
    const lines = event.deltaMode === 1 ? 24 : 1;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return panBy(((event.deltaX || event.deltaY) * lines) / width);
    const turn = Math.max(Math.min(event.deltaY * lines, 240), -240);
    zoomBy(Math.exp(turn * (event.ctrlKey ? 0.01 : 0.0022)), toTime(view.peek(), width, x));
  }

  /** Handles a drag until the pointer is released. `moved` says whether it was a drag and not a click. */
  function drag(down: PointerEvent, width: number, scroll: (by: number) => void): { moved: () => boolean } {
    const start: View = view.peek();
    const target = down.currentTarget as HTMLElement;
    let [far, y] = [0, down.clientY];
    target.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      far = Math.max(far, Math.abs(event.clientX - down.clientX), Math.abs(event.clientY - down.clientY));
      if (far < 4) return;
      setView(pan(start, whole.peek(), (-(event.clientX - down.clientX) / width) * (start.to - start.from)));
      scroll(y - event.clientY);
      y = event.clientY;
    };
    target.addEventListener("pointermove", move);
    const end = (): void => target.removeEventListener("pointermove", move);
    target.addEventListener("pointerup", end, { once: true });
    target.addEventListener("pointercancel", end, { once: true });
    return { moved: () => far >= 4 };
  }

  return { key, wheel, drag, zoomIn, zoomOut, showAll };
}
