/** The width of an element, as it changes. */
import { useLayoutEffect, useState } from "preact/hooks";

export function useWidth(ref: { current: HTMLElement | null }, first: number): number {
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    setWidth(element.clientWidth || first);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width;
}
