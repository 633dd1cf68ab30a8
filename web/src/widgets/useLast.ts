/** The latest value that was there: keeps a drawing on screen while the next is on its way. */
import { useRef } from "preact/hooks";

export function useLast<T>(value: T | null): T | null {
  const last = useRef(value);
  if (value !== null) last.current = value;
  return last.current;
}
