/** A canvas as large as its box, sharp on every screen. */
import type { Signal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";

export interface Size {
  width: number;
  height: number;
}

type Draw = (context: CanvasRenderingContext2D) => void;

/** `paint` draws once, now, and reads every signal that the drawing needs: call it in an effect. */
export function useCanvas(size: Signal<Size>, draw: Draw) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      if (width !== size.peek().width || height !== size.peek().height) size.value = { width, height };
    });
    watch.observe(canvas.current!);
    const screens = matchMedia(`(resolution: ${globalThis.devicePixelRatio || 1}dppx)`);
    const moved = (): void => void (size.value = { ...size.peek() }); // the window moved to another screen
    screens.addEventListener("change", moved);
    return () => (watch.disconnect(), screens.removeEventListener("change", moved));
  }, []);
  const paint = useCallback(() => {
    const { width, height } = size.value;
    if (canvas.current && width && height) paintOn(canvas.current, width, height, latest.current);
  }, []);
  return { canvas, paint };
}

function paintOn(canvas: HTMLCanvasElement, width: number, height: number, draw: Draw): void {
  const ratio = globalThis.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw(context);
}
