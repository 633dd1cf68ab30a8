import { act, cleanup, render } from "@testing-library/preact";
import { afterEach, expect, test, vi } from "vitest";
import { useDelayed } from "../src/widgets/useDelayed";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test("the first change is followed at once, those right after it when they have come to rest", () => {
  vi.useFakeTimers();
  const seen: string[] = [];
  const Follow = ({ text }: { text: string }) => {
    const late = useDelayed(text, 120);
    if (seen.at(-1) !== late) seen.push(late);
    return null;
  };
  const { rerender } = render(<Follow text="" />);
  const type = (text: string, wait: number): void => {
    act(() => rerender(<Follow text={text} />));
    act(() => void vi.advanceTimersByTime(wait));
  };
  act(() => void vi.advanceTimersByTime(500));
  type("d", 50);
  type("de", 50);
  type("den", 500);
  expect(seen).toEqual(["", "d", "den"]);
});
