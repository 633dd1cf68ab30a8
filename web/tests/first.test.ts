import { afterEach, expect, test, vi } from "vitest";
import { forget } from "../src/api/kept";
import { findFirst } from "../src/state/first";
import { focus, setFocus } from "../src/state/focus";
import { verdict } from "../src/state/run";
import { aVerdict } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

const scalars = { items: [{ op: "0.9", name: "Mean:0", label: "loss", count: 50 }] };
const points = { time: [1, 2], step: [0, 1], low: [1, 1], high: [1, 1], value: [1, 1], ids: ["0.40", "0.80"] };
let stop = (): void => undefined;

afterEach(() => {
  stop();
  forget();
  verdict.value = null;
  vi.unstubAllGlobals();
});

test("a healthy run opens with its loss, until something else is chosen", async () => {
  serve({ scalars, "scalars/0.9": points });
  arrive("run=r");
  stop = findFirst();
  verdict.value = aVerdict({ findings: [] });
  await vi.waitFor(() => expect(focus.value).toBe("0.80"));
  setFocus("0.3");
  expect(focus.value).toBe("0.3");
});

test("one with a problem opens with that", async () => {
  const fetch = serve({ scalars, "scalars/0.9": points });
  arrive("run=other");
  stop = findFirst();
  verdict.value = aVerdict();
  expect(focus.value).toBe("0.1681");
  expect(fetch).not.toHaveBeenCalled();
});
