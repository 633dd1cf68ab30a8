/** A value that follows another: at once where that was at rest, else when it has come to rest; so that not every letter is a question. */
import { useEffect, useRef, useState } from "preact/hooks";

/** 0 milliseconds: it is not typed, and follows at once. */
export function useDelayed<T>(value: T, milliseconds: number): T {
  const [, draw] = useState({});
  const late = useRef(value);
  const last = useRef(-Infinity);
  if (value !== late.current && performance.now() - last.current >= milliseconds) late.current = value;
  useEffect(() => {
    last.current = performance.now();
    if (late.current === value) return;
    const timer = setTimeout(() => draw({}), milliseconds + 1);
    return () => clearTimeout(timer);
  }, [value]);
  return late.current;
}
