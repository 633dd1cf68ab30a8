/** The latest available value: keeps a drawing on screen while the next one loads. */
import { useRef } from "preact/hooks";

export function useLast<T>(value: T | null): T | null {
  const last = useRef(value);
  if (value !== null) last.current = value;
  return last.current;
}
