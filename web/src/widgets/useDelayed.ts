/** A value that follows another: at once where that was at rest, else when it has come to rest; so that not every letter is a question. */
import { useEffect, useRef, useState } from "preact/hooks";

export function useDelayed<T>(value: T, milliseconds: number): T {
  const [late, setLate] = useState(value);
  const last = useRef(-Infinity);
  useEffect(() => {
    const rested = performance.now() - last.current > milliseconds;
    last.current = performance.now();
    if (rested) return setLate(() => value);
    const timer = setTimeout(() => setLate(() => value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}
