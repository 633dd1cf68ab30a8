/** A value that follows another once that has come to rest: so that not every letter typed is a question. */
import { useEffect, useState } from "preact/hooks";

export function useDelayed<T>(value: T, milliseconds: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(() => value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}
