import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { forget } from "../src/api/kept";
import { allKeys, helpOpen, listenToKeys, moveInList } from "../src/state/keys";
import { go, part } from "../src/state/address";
import { said } from "../src/state/said";
import { theme } from "../src/state/theme";

let stop: () => void;
beforeEach(() => {
  location.hash = "";
  dispatchEvent(new HashChangeEvent("hashchange"));
  document.body.innerHTML = '<input id="search"><div id="elsewhere" tabindex="0"></div>';
  forget();
  stop = listenToKeys();
});
afterEach(() => {
  stop();
  vi.unstubAllGlobals();
});

function press(key: string, on: Element = document.body, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  on.dispatchEvent(event);
  return event;
}

const answer = (body: unknown) => vi.fn(async (_path: string) => new Response(JSON.stringify(body)));

test("no two keys are the same", () => {
  const keys = allKeys().flatMap((key) => key.keys);
  expect(new Set(keys).size).toBe(keys.length);
});

test("/ goes to the search field, and letters typed there do nothing else", () => {
  expect(press("/").defaultPrevented).toBe(true);
  const field = document.getElementById("search") as HTMLInputElement;
  expect(document.activeElement).toBe(field);
  expect(press("?", field).defaultPrevented).toBe(false);
  expect(helpOpen.value).toBe(false);
  press("Escape", field);
  expect(document.activeElement).not.toBe(field);
});

test("? opens the help, Esc closes it", () => {
  press("?");
  expect(helpOpen.value).toBe(true);
  press("Escape");
  expect(helpOpen.value).toBe(false);
});

test("j, k and, where nothing has the focus, arrows move in the list", () => {
  moveInList.by = vi.fn();
  press("j");
  press("k");
  press("ArrowDown");
  press("ArrowDown", document.getElementById("elsewhere") as Element);
  expect(vi.mocked(moveInList.by).mock.calls).toEqual([[1], [-1], [1]]);
  moveInList.by = null;
});

test("n asks for the next alert after the one in focus, of the kind that was chosen", async () => {
  const fetch = answer({ id: "0.42" });
  vi.stubGlobal("fetch", fetch);
  go({ run: "r", tensor: "0.7", kind: "nan" });
  press("n");
  await vi.waitFor(() => expect(part("tensor").value).toBe("0.42"));
  expect(fetch.mock.calls[0]?.[0]).toBe("api/runs/r/next?direction=next&id=0.7&kind=nan");
});

test("after the last alert it is said that there is none", async () => {
  vi.stubGlobal("fetch", answer({ id: null }));
  go({ run: "r", tensor: "0.7" });
  press("p");
  await vi.waitFor(() => expect(said.value).toBe("There is no previous alert."));
  expect(part("tensor").value).toBe("0.7");
});

test("with no tensor in focus, n goes to the first", async () => {
  vi.stubGlobal("fetch", answer({ begin: 0, end: 1, total: 9, counts: [], items: [{ id: "0.3" }] }));
  go({ run: "r" });
  press("n");
  await vi.waitFor(() => expect(part("tensor").value).toBe("0.3"));
});

test("a panel's key brings it to the front", () => {
  press("s");
  press("c");
  expect(part("panel").value).toBe("stack.source");
});

test("keys with Ctrl are the browser's", () => expect(press("n", document.body, { ctrlKey: true }).defaultPrevented).toBe(false));

test("d changes the theme, also where the browser refuses to remember", () => {
  const before = theme.value;
  vi.stubGlobal("localStorage", { getItem: () => { throw new Error("refused"); }, setItem: () => { throw new Error("refused"); }, removeItem: () => { throw new Error("refused"); } });
  press("d");
  expect(theme.value).not.toBe(before);
  expect(document.documentElement.dataset.theme).toBe(theme.value);
});
