/** A value that follows another: at once after a rest, then once that has come to rest again. Not every letter typed is a question. */
import { useEffect, useRef, useState } from "preact/hooks";

export function useDelayed<T>(value: T, milliseconds: number): T {
  const [late, setLate] = useState(value);
  const changed = useRef(-Infinity);
  useEffect(() => {
    const rested = performance.now() - changed.current > milliseconds;
    changed.current = performance.now();
    const timer = setTimeout(() => setLate(() => value), rested ? 0 : milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}
