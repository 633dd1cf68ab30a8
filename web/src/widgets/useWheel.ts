/** The wheel over an element, without scrolling the page: Preact's own listeners are passive and cannot prevent that. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function useWheel(element: RefObject<Element | null>, turn: (event: WheelEvent, x: number, y: number) => void): void {
  const latest = useRef(turn);
  latest.current = turn;
  useEffect(() => {
    const target = element.current;
    const listen = (event: Event): void => {
      const { left, top } = target!.getBoundingClientRect();
      event.preventDefault();
      latest.current(event as WheelEvent, (event as WheelEvent).clientX - left, (event as WheelEvent).clientY - top);
    };
    target?.addEventListener("wheel", listen, { passive: false });
    return () => target?.removeEventListener("wheel", listen);
  }, []);
}
