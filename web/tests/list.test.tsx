import { act, cleanup, fireEvent, render, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forget } from "../src/api/kept";
import { Tensors } from "../src/panels/tensors/Tensors";
import { part } from "../src/state/address";
import { moveInList } from "../src/state/keys";
import { cursor, run } from "../src/state/run";
import { aDetail, aRow, aRun, someHealth } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

const ROOM = 240;
let total = 1_000_000;

function rows(asked: URLSearchParams): unknown {
  const [begin, end] = [Number(asked.get("begin")), Math.min(total, Number(asked.get("end")))];
  const items = Array.from({ length: Math.max(0, end - begin) }, (_, n) => aRow(begin + n, { health: someHealth({ bad: (begin + n) % 7 === 0 }) }));
  return { begin, end, total, items };
}
const answers = { tensors: rows, "tensors/at": (asked: URLSearchParams) => ({ index: Number(asked.get("id")?.split(".")[1]) }) };

beforeEach(() => {
  total = 1_000_000;
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(ROOM);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(900);
  forget();
  run.value = aRun();
  arrive("run=r");
});
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const names = (container: Element): string[] => [...container.querySelectorAll(".row:not(.row-waiting) .cell-name")].map((cell) => cell.textContent ?? "");

test("of a million tensors only those in sight are drawn and asked for", async () => {
  const fetch = serve(answers);
  const { container, getByText } = render(<Tensors />);
  await waitFor(() => expect(names(container)[0]).toBe("Log_0:0"));
  expect(container.querySelectorAll(".row").length).toBeLessThan(40);
  expect(fetch.mock.calls.map(([address]) => address)).toEqual(["api/runs/r/tensors?begin=0&end=100"]);
  expect(getByText("1,000,000 tensors")).toBeTruthy();
});

test("the tensor in focus is scrolled to and selected, its inputs tinted", async () => {
  serve({ ...answers, "tensors/0.654321": aDetail(654321, { inputs: [{ id: "0.654320", op: "0.1", type: "Softmax", name: "Softmax:0", bad: false, words: "", place: null }] }) });
  arrive("run=r&tensor=0.654321");
  const { container } = render(<Tensors />);
  await waitFor(() => expect(container.querySelector(".row-focused .cell-name")?.textContent).toBe("Log_654321:0"), { timeout: 3000 });
  expect(container.querySelector(".row-focused")?.getAttribute("aria-selected")).toBe("true");
  await waitFor(() => expect(container.querySelector(".row-input .cell-name")?.textContent).toBe("Log_654320:0"));
});

test("the page of the tensor in focus is not waited for until the server has said where it is", async () => {
  serve({ ...answers, "tensors/at": () => new Promise(() => undefined), "tensors/0.7777": aDetail(7777) });
  arrive("run=r&tensor=0.7777");
  const { container } = render(<Tensors />);
  await waitFor(() => expect(container.querySelector(".row-focused .cell-name")?.textContent).toBe("Log_7777:0"));
});

test("arrow keys walk, without filling the browser's history", async () => {
  serve({ ...answers, "tensors/0.3": aDetail(3), "tensors/0.4": aDetail(4), "tensors/0.5": aDetail(5) });
  arrive("run=r&tensor=0.3");
  const { container } = render(<Tensors />);
  await waitFor(() => expect(container.querySelector(".row-focused")).not.toBeNull());
  const before = history.length;
  const scroller = container.querySelector(".list-scroll") as Element;
  fireEvent.keyDown(scroller, { key: "ArrowDown" });
  await waitFor(() => expect(container.querySelector(".row-focused .cell-name")?.textContent).toBe("Log_4:0"));
  fireEvent.keyDown(scroller, { key: "ArrowDown" });
  await waitFor(() => expect(part("tensor").value).toBe("0.5"));
  expect(history.length).toBe(before);
});

test("a key pressed before the rows are here is not lost, and leads nowhere else", async () => {
  serve({ ...answers, "tensors/0.400": aDetail(400), "tensors/0.402": aDetail(402) });
  arrive("run=r&tensor=0.400");
  render(<Tensors />);
  await waitFor(() => expect(moveInList.by).not.toBeNull());
  moveInList.by?.(1);
  moveInList.by?.(1);
  await waitFor(() => expect(part("tensor").value).toBe("0.402"));
});

test("Enter shows the tensor's own panel", async () => {
  serve({ ...answers, "tensors/0.3": aDetail(3) });
  arrive("run=r&tensor=0.3");
  const { container, getByRole } = render(<Tensors />);
  await waitFor(() => expect(container.querySelector(".row-focused")).not.toBeNull());
  fireEvent.keyDown(getByRole("grid"), { key: "Enter" });
  expect(part("panel").value).toBe("tensor");
});

test("a filter asks the server", async () => {
  const fetch = serve(answers);
  const { getByLabelText, container } = render(<Tensors />);
  await waitFor(() => expect(names(container).length).toBeGreaterThan(0));
  fireEvent.input(getByLabelText("Name"), { target: { value: "den" } });
  await waitFor(() => expect(fetch.mock.calls.at(-1)?.[0]).toBe("api/runs/r/tensors?begin=0&end=100&name=den"));
  expect(fetch).toHaveBeenCalledTimes(2);
});

test("what is not typed, as an order or the way back, is asked for at once, however soon after another", async () => {
  const fetch = serve(answers);
  const { container } = render(<Tensors />);
  await waitFor(() => expect(names(container).length).toBeGreaterThan(0));
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] }); // no time passes: nothing that waits for rest is asked
  for (const change of ["op=Log", "op=Log&sort=name"]) act(() => arrive(`run=r&${change}`));
  vi.useRealTimers();
  expect(fetch.mock.calls.map(([address]) => String(address)).filter((address) => address.includes("sort=name"))).toEqual(["api/runs/r/tensors?begin=0&end=100&op=Log&sort=name"]);
});

test("nothing passes the filters: they can be cleared", async () => {
  serve(answers);
  total = 0;
  arrive("run=r&op=Nope");
  const { getByText } = render(<Tensors />);
  await waitFor(() => getByText("No tensor is like that."));
  fireEvent.click(getByText("clear them all"));
  expect(part("op").value).toBeNull();
});

test("a program that goes on makes the list longer, and leaves what one looks at in place", async () => {
  total = 500;
  serve({ ...answers, "tensors/0.300": aDetail(300) });
  arrive("run=r&tensor=0.300");
  const { container, getByText } = render(<Tensors />);
  await waitFor(() => expect(container.querySelector(".row-focused .cell-name")?.textContent).toBe("Log_300:0"));
  const scroller = container.querySelector(".list-scroll") as HTMLElement;
  const before = scroller.scrollTop;
  total = 800;
  forget();
  cursor.value += 1;
  await waitFor(() => getByText("800 tensors"));
  expect(scroller.scrollTop).toBe(before);
  expect(container.querySelector(".row-focused .cell-name")?.textContent).toBe("Log_300:0");
});

test("what the server refuses is said", async () => {
  serve({});
  const { getByRole } = render(<Tensors />);
  await waitFor(() => expect(getByRole("alert").textContent).toBe("There is no tensors.Ask for another."));
});
