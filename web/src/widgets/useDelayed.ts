/** A value that follows another: at once after a rest, else when that comes to rest, so that not every letter is a request. */
import { useEffect, useRef, useState } from "preact/hooks";

/** 0 milliseconds: not typed, follows at once. */
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
