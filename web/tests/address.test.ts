import { beforeEach, expect, test } from "vitest";
import { address, drift, go, href, part } from "../src/state/address";
import { focus, setFocus, slideFocus } from "../src/state/focus";
import { verdict } from "../src/state/run";
import { clearFilters, filtered, params, setFilter, sort, sortBy } from "../src/panels/tensors/filters";

function arrive(hash: string): void {
  location.hash = hash;
  dispatchEvent(new HashChangeEvent("hashchange"));
}

beforeEach(() => arrive(""));

test("what is set stands in the address, what is taken away does not", () => {
  go({ run: "a b", tensor: "0.17" });
  expect(location.hash).toBe("#run=a+b&tensor=0.17");
  go({ tensor: null });
  expect(location.hash).toBe("#run=a+b");
  expect(href({ tensor: "1.2" })).toBe("#run=a+b&tensor=1.2");
});

test("each go is an entry in the history, a drift is not", () => {
  const before = history.length;
  go({ tensor: "0.1" });
  go({ tensor: "0.1" });
  drift({ tensor: "0.2" });
  drift({ tensor: "0.3" });
  expect(history.length - before).toBe(1);
  expect(part("tensor").value).toBe("0.3");
});

test("back and forward are followed", () => {
  go({ tensor: "0.1" });
  arrive("tensor=0.9&op=Log");
  expect(focus.value).toBe("0.9");
  expect(params.value).toMatchObject({ op: "Log" });
});

test("until a tensor is chosen, the focus is where the first finding was born", () => {
  verdict.value = { verdict: "problem", blind: null, unjudged: null, unclear: [], unclear_words: "", masked: [], notes: [], end: null, findings: [{ tensor: "0.1681" } as never] };
  expect(focus.value).toBe("0.1681");
  setFocus("0.5");
  expect(focus.value).toBe("0.5");
  verdict.value = null;
});

test("another tensor closes the line that was opened", () => {
  go({ src: "2:18", tensor: "0.1" });
  slideFocus("0.2");
  expect(address.value.get("src")).toBeNull();
});

test("filters go to the address and from there to the server", () => {
  setFilter("name", "dense", true);
  setFilter("health", "nan");
  setFilter("from", "3");
  setFilter("line", "train.py:18");
  setFilter("in", "eager");
  expect(location.hash).toBe("#name=dense&health=nan&from=3&line=train.py%3A18&in=eager");
  expect(params.value).toMatchObject({ name: "dense", health: "nan", from: "3", file: "train.py", line: "18", eager: true });
  expect(filtered.value).toBe(true);
  clearFilters();
  expect([location.hash.length <= 1, filtered.value]).toEqual([true, false]);
});

test("a click on a column sorts, the next the other way, the third not at all", () => {
  sortBy("nan");
  expect([sort.value, params.value.sort, params.value.descending]).toEqual([{ by: "nan", descending: true }, "nan", true]);
  sortBy("nan");
  expect(sort.value).toEqual({ by: "nan", descending: false });
  sortBy("nan");
  expect([sort.value.by, params.value.sort]).toEqual(["order", null]);
  sortBy("step");
  expect(sort.value).toEqual({ by: "step", descending: false });
});

test("the focus moves without the list being asked again", () => {
  const before = params.value;
  setFocus("0.99");
  expect(params.value).toBe(before);
});
