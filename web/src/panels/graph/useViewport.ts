/** The visible part of the graph: follows changes of the drawing, and the pointer. */
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useWheel } from "../../widgets/useWheel";
import type { Laid, PlacedNode } from "./layout";
import { fit, follow, revealing, type Viewport, zoomAt } from "./viewport";

export interface Moves {
  svg: { current: SVGSVGElement | null };
  view: ReadonlySignal<Viewport>;
  gliding: ReadonlySignal<boolean>; // false while the pointer moves it
  refit: () => void;
  zoom: (factor: number) => void;
  reveal: (placed: PlacedNode) => void;
  pan: (x: number, y: number) => void;
}

export function useViewport(laid: Laid, focus: string): Moves {
  const svg = useRef<SVGSVGElement>(null);
  const view = useSignal<Viewport>({ x: 0, y: 0, k: 1 });
  const gliding = useSignal(false);
  const before = useRef<{ laid: Laid; focus: string } | null>(null);
  const screen = () => ({ width: svg.current?.clientWidth ?? 0, height: svg.current?.clientHeight ?? 0 });
  const show = (next: Viewport, glide: boolean): void => void ((gliding.value = glide), (view.value = next));
  const fitted = (): Viewport => fit(screen(), laid, laid.nodes.find((placed) => placed.node.id === focus) ?? null);

  useLayoutEffect(() => {
    const last = before.current;
    before.current = { laid, focus };
    if (last === null || last.focus !== focus) show(fitted(), last !== null);
    else show(follow(view.peek(), last.laid, laid, focus, screen()), true);
  }, [laid]);
  useEffect(() => {
    let known = screen();
    const watch = new ResizeObserver(() => {
      const now = screen();
      if (now.width !== known.width || now.height !== known.height) show(fitted(), false);
      known = now;
    });
    watch.observe(svg.current!);
    return () => watch.disconnect();
  }, [laid]);
  useWheel(svg, (event, x, y) => show(zoomAt(view.peek(), x, y, turned(event)), false));

  return {
    svg,
    view,
    gliding,
    refit: () => show(fitted(), true),
    zoom: (factor) => show(zoomAt(view.peek(), screen().width / 2, screen().height / 2, factor), true),
    reveal: (placed) => show(revealing(view.peek(), screen(), placed), true),
    pan: (x, y) => show({ ...view.peek(), x: view.peek().x + x, y: view.peek().y + y }, false),
  };
}

/** A pinch comes as a wheel with ctrl, in smaller steps. */
const turned = (event: WheelEvent): number => Math.exp(-Math.max(Math.min(event.deltaY, 240), -240) * (event.ctrlKey ? 0.01 : 0.002));
