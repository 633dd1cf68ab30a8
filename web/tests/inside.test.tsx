import { cleanup, fireEvent, render, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AttentionItem, AttentionList, Layers, Weights } from "../src/api/inside";
import { unpacked, unpackedBytes } from "../src/api/inside";
import { forget } from "../src/api/kept";
import { AttentionPanel } from "../src/panels/attention/AttentionPanel";
import { frame, pixels, shade, shown } from "../src/panels/attention/draw";
import { choice } from "../src/panels/attention/state";
import { blocks, cellWords, facts, label } from "../src/panels/attention/words";
import { labelled } from "../src/panels/layers/draw";
import { LayersPanel } from "../src/panels/layers/LayersPanel";
import { marks, position, scaleOf } from "../src/panels/layers/scale";
import { cellWords as layerWords } from "../src/panels/layers/words";
import { LIGHT } from "../src/panels/tensor/colour";
import { part } from "../src/state/address";
import { followInside, goTo, inside } from "../src/state/inside";
import { placed, showPanel } from "../src/state/panels";
import { verdict } from "../src/state/run";
import { abbreviated, sharedScopes, withoutScopes } from "../src/widgets/names";
import { aFinding, aVerdict } from "./fixtures/run";
import { arrive, serve } from "./fixtures/server";

const base64 = (numbers: number[]): string => btoa(String.fromCharCode(...new Uint8Array(new Float32Array(numbers).buffer)));
const item = (id: string, more: Partial<AttentionItem> = {}): AttentionItem => ({ id, name: `block_${id}`, by: "probe", heads: 2, shown: 2, samples: 2, queries: 2, keys: 2, steps: [0, 4, 8], place: null, ...more });
const numbers = { entropy: 0.5, distance: 1, sink: 0.25, collapse: 0.5, ahead: 0, off_sum: 0, nan_rows: 0, zero_rows: 0 };
const weights = (more: Partial<Weights> = {}): Weights => ({ step: 8, sample: 0, head: 0, rows: 2, columns: 2, queries: 2, keys: 2, rowBlock: 1, columnBlock: 1, cells: base64([1, 0, 0.75, 0.25]), numbers, query: null, key: null, ...more });
const place = { file: 2, path: "/x/model.py", line: 24, function: "attend", code: "softmax(scores)" };
const layers = (more: Partial<Layers> = {}): Layers => ({
  kinds: ["output", "gradient"], kind: "output", why: null, steps: [0, 10], looks: 2, leftOut: 0, bad: null,
  rows: [{ id: "0.5", name: "embedding", shape: [8, 16], place }, { id: "0.6", name: "dense", shape: [8, 4], place: null }],
  measures: { norm: base64([1, 10, 100, NaN]), zeros: base64([0, 0.5, 1, NaN]) },
  ...more,
});

beforeEach(() => {
  serve({});
  forget();
  arrive("run=r");
  verdict.value = null;
  inside.value = { attention: 0, layers: 0 };
});
afterEach(cleanup);

describe("numbers in base64", () => {
  it("are what they were", () => {
    expect([...unpacked(base64([0.5, -2, NaN]))]).toEqual([0.5, -2, NaN]);
    expect([...unpackedBytes(btoa("\x00\xff"))]).toEqual([0, 255]);
  });
});

describe("what is chosen", () => {
  const items = [item("0.1"), item("0.2")];
  it("is the latest look at the first, until the address says otherwise", () => {
    expect(choice(items)).toMatchObject({ item: items[0], head: 0, step: 8, sample: 0 });
    arrive("run=r&attention=0.2&head=1&look=5&sample=1");
    expect(choice(items)).toMatchObject({ item: items[1], head: 1, step: 4, sample: 1 });
  });
  it("stays within what there is", () => {
    arrive("run=r&attention=9&head=99&look=0&sample=-3");
    expect(choice(items)).toMatchObject({ item: items[0], head: 1, step: 0, sample: 0 });
  });
});

describe("a heat map", () => {
  it("says query, key and weight, by token where these are known", () => {
    const cells = unpacked(weights().cells);
    expect(cellWords(weights(), cells, 1, 0)).toBe("query 1 → key 0: 0.75");
    const known = weights({ query: { ids: ["7", "9"], words: ["the", "cat"] }, key: { ids: ["7", "9"], words: null } });
    expect(cellWords(known, cells, 1, 1)).toBe("query 1 “cat” → key 1 (id 9): 0.25");
    expect(label(known.query, 1, 1)).toBe("cat");
    expect(cellWords(weights(), unpacked(base64([NaN, 0, 0, 0])), 0, 0)).toContain("not finite");
  });
  it("says where cells are blocks", () => {
    const large = weights({ queries: 1000, keys: 999, rowBlock: 4, columnBlock: 4 });
    expect(label(null, 249, 4)).toBe("996");
    expect(cellWords({ ...large, columns: 250 }, new Float32Array(62500), 0, 249)).toBe("queries 0…3 → keys 996…998: 0");
    expect(blocks(large)).toBe("Made smaller: of 1,000 × 999, each cell is the mean of 4 queries and the sum of 4 keys.");
    expect(blocks(weights())).toBeNull();
  });
  it("tells of rows that are no weights", () => {
    expect(facts(weights())).toBe("entropy 0.5 · distance 1 · first key 25 % · most on one key 50 % · ahead of the query 0 %");
    expect(facts(weights({ numbers: { ...numbers, distance: null, off_sum: 0.5, nan_rows: 1 } }))).toContain("a row is 0.5 away from 1 · 1 row not finite");
  });
  it("has square cells, and room for the tokens", () => {
    const [plain, named] = [frame(weights(), 400), frame(weights({ query: { ids: ["1", "2"], words: ["a", "everything"] } }), 400)];
    expect(named.left).toBeGreaterThan(plain.left);
    expect(frame(weights({ rows: 256, columns: 256 }), 400).cell).toBeLessThan(2);
  });
  it("names rows only as far as they fit, and always the one under the pointer", () => {
    expect(shown(4, 20, null, 13)).toEqual([0, 1, 2, 3]);
    expect(shown(20, 2, null, 13)).toEqual([0, 7, 14]);
    expect(shown(20, 2, 8, 13)).toEqual([8]);
  });
  it("shows small weights by the square root, and what is not finite as bad", () => {
    expect(shade(0.25, 1)).toBe(0.5);
    const found = pixels([0, 1, NaN], 1, LIGHT, [200, 30, 30]);
    expect([...found.slice(0, 3)]).toEqual(LIGHT.middle);
    expect([...found.slice(4, 7)]).toEqual(LIGHT.high[1]);
    expect([...found.slice(8, 12)]).toEqual([200, 30, 30, 255]);
  });
});

describe("the attention panel", () => {
  const list: AttentionList = { items: [item("0.1", { place }), item("0.2")], leftOut: 0, why: null, remarks: [{ what: "collapsed", severity: "note", layer: "block_0.2", heads: [1], who: "head 1", words: "all queries look at one key." }] };
  const answers = {
    attention: list,
    "attention/0.1/thumbs": { rows: 1, columns: 1, heads: ["/w==", "AA=="] },
    "attention/0.2/thumbs": { rows: 1, columns: 1, heads: ["/w==", "AA=="] },
    "attention/0.1/weights": (asked: URLSearchParams) => weights({ head: Number(asked.get("head")), step: Number(asked.get("step")) }),
    "attention/0.2/weights": (asked: URLSearchParams) => weights({ head: Number(asked.get("head")), step: Number(asked.get("step")) }),
    "layers/at": { tensor: null, place },
  };
  it("moves by key from head to head, layer to layer, look to look", async () => {
    serve(answers);
    const { findByRole, getByRole } = render(<AttentionPanel />);
    const heads = await findByRole("radiogroup");
    fireEvent.keyDown(heads, { key: "ArrowRight" });
    await findByRole("img", { name: /^Attention weights of head 1, sample 0, step 8/ });
    fireEvent.keyDown(getByRole("radiogroup"), { key: "PageUp" });
    await findByRole("img", { name: /^Attention weights of head 1, sample 0, step 4/ });
    fireEvent.keyDown(getByRole("radiogroup"), { key: "ArrowDown" });
    expect([part("attention").value, part("head").value, part("look").value]).toEqual(["0.2", "1", "4"]);
  });
  it("tells what is remarkable; a click shows that head", async () => {
    serve(answers);
    const { findByRole } = render(<AttentionPanel />);
    expect((await findByRole("list", { name: "What is remarkable" })).textContent).toBe("block_0.2, head 1: all queries look at one key.");
    fireEvent.click(await findByRole("button", { name: "block_0.2, head 1" }));
    expect([part("attention").value, part("head").value]).toEqual(["0.2", "1"]);
  });
  it("goes to the line", async () => {
    serve(answers);
    const { findByRole } = render(<AttentionPanel />);
    fireEvent.click(await findByRole("button", { name: "model.py:24" }));
    await waitFor(() => expect(part("src").value).toBe("2:24"));
  });
  it("says why there is none", async () => {
    serve({ attention: { items: [], leftOut: 0, remarks: [], why: "inside_every was 0." } });
    const { findByText } = render(<AttentionPanel />);
    await findByText("inside_every was 0.");
  });
});

describe("names of layers", () => {
  const names = ["attention/self/query", "attention/self/key", "attention/output/dense", "output/dense", "intermediate"].flatMap((end) =>
    [0, 1, 11].map((block) => `tf_bert_for_sequence_classification/bert/encoder/layer_._${block}/${end}`));
  it("leave out the scopes that all begin with", () => {
    const scopes = sharedScopes(names);
    expect(scopes).toBe("tf_bert_for_sequence_classification/bert/encoder");
    expect(withoutScopes(names[0]!, scopes)).toBe("layer_._0/attention/self/query");
    expect([sharedScopes(["a/b/c"]), sharedScopes(["a/b", "c/b"]), sharedScopes(["a", "a/b"]), sharedScopes([])]).toEqual(["", "", "", ""]);
    expect(withoutScopes("encoder/x", "")).toBe("encoder/x");
  });
  it("stay different where there is little room", () => {
    for (const room of [24, 40, 60]) {
      const short = names.map((name) => abbreviated(name, room));
      expect(new Set(short).size).toBe(names.length);
      expect(Math.max(...short.map((name) => name.length))).toBeLessThanOrEqual(room);
    }
    expect(abbreviated("bert/encoder/layer_._0/attention/self/query", 26)).toBe("b/e/layer_._0/a/self/query");
    expect(abbreviated("block_1/multi_head_attention_1/query", 24)).toBe("b_1/m_1/query");
  });
});

describe("what the verdict has to say", () => {
  it("is told in both panels, and a click opens it", async () => {
    serve({ layers: layers(), attention: { items: [], leftOut: 0, remarks: [], why: "none" } });
    const { findByRole } = render(<><button id="verdict-toggle" aria-expanded={false}>More</button><LayersPanel /></>);
    await findByRole("img");
    verdict.value = aVerdict({ findings: [aFinding({ summary: "/x/train.py:7 is given a mask that is turned round.", file: "/x/train.py" }), aFinding()] });
    const link = await findByRole("button", { name: "The verdict has more" });
    expect(link.parentElement!.textContent).toBe("The verdict has more (and 1 more): train.py:7 is given a mask that is turned round.");
    fireEvent.click(link);
    expect(document.activeElement?.id).toBe("verdict-toggle");
  });
  it("is not told where there is nothing", async () => {
    serve({ layers: layers() });
    verdict.value = aVerdict({ findings: [] });
    const { findByRole, queryByText } = render(<LayersPanel />);
    await findByRole("img");
    expect(queryByText(/The verdict has more/)).toBeNull();
  });
});

describe("the scale of layers", () => {
  it("is logarithmic, with 0 apart and the sign kept", () => {
    const scale = scaleOf("mean", new Float32Array([-1, 0, 0.01, 100, NaN]));
    expect(scale).toMatchObject({ log: true, high: 100, signed: true });
    expect(scale.low).toBeCloseTo(0.01);
    expect(position(0, scale)).toBe(0);
    expect(position(100, scale)).toBeCloseTo(1);
    expect(position(-1, scale)).toBeCloseTo(-0.54);
    expect(position(0.01, scale)).toBeGreaterThan(0);
  });
  it("of shares goes from 0 to 1", () => {
    expect(position(0.25, scaleOf("dead", new Float32Array([0.1])))).toBe(0.25);
  });
  it("has marks from the smallest to the largest", () => {
    const all = marks({ log: true, low: 1, high: 100, signed: false }, 3);
    expect(all.map(Math.round)).toEqual([1, 10, 100]);
    expect(marks({ log: true, low: 1, high: 100, signed: true }, 2).map(Math.round)).toEqual([-100, -1, 1, 100]);
  });
  it("is 0 alone where there is no other number", () => {
    for (const cells of [[0, 0], [NaN, 0], [NaN, NaN]]) expect(marks(scaleOf("norm", new Float32Array(cells)), 11)).toEqual([0]);
  });
  it("writes steps that stand clear of each other, the one under the pointer before all, then the ends", () => {
    expect(labelled([0, 1, 2, 3], 30, null)).toEqual([0, 3, 1, 2]);
    expect(labelled([0, 1, 2, 3], 8, null)).toEqual([0, 3]);
    expect(labelled([0, 1, 2, 3], 8, 1)).toEqual([1, 3]);
  });
});

describe("the layers panel", () => {
  it("says all numbers of a cell, what is drawn first", () => {
    const cells = { measures: { norm: unpacked(layers().measures.norm!), zeros: unpacked(layers().measures.zeros!) }, bad: new Float32Array([0, 3, 0, 0]) };
    expect(layerWords(layers(), cells, "zeros", 0, 1)).toBe("embedding 8×16 · step 10 · share of zeros 50 % · norm 10 · 3 not finite");
    expect(layerWords(layers(), cells, "norm", 1, 1)).toBe("dense 8×4 · step 10 · no look");
    cells.bad[3] = 4;
    expect(layerWords(layers(), cells, "norm", 1, 1)).toBe("dense 8×4 · step 10 · 4 not finite");
  });
  it("draws gradients that are all 0, with one mark", async () => {
    serve({ layers: layers({ kind: "gradient", measures: { norm: base64([0, 0, 0, 0]) } }) });
    const { findByRole, container } = render(<LayersPanel />);
    await findByRole("img");
    expect(container.querySelector(".heat-legend")!.textContent).toBe("0");
  });
  it("draws layers that are NaN from the first step, without a scale", async () => {
    serve({ layers: layers({ measures: { norm: base64([NaN, NaN, NaN, NaN]) }, bad: base64([3, 3, 3, 3]) }) });
    const { findByRole, container } = render(<LayersPanel />);
    await findByRole("img");
    expect(container.querySelector(".heat-legend")!.textContent).toBe("× holds NaN or ∞");
  });
  it("goes by key to a layer's line", async () => {
    serve({ layers: layers(), "layers/at": (asked: URLSearchParams) => ({ tensor: asked.get("step") === "10" ? "0.77" : null, place }) });
    const { findByRole } = render(<LayersPanel />);
    await findByRole("img", { name: "Picture of 2 layers by 2 looks, from step 0 to 10: norm." });
    const group = await findByRole("group");
    fireEvent.keyDown(group, { key: "ArrowDown" });
    fireEvent.keyDown(group, { key: "Enter" });
    await waitFor(() => expect(part("tensor").value).toBe("0.77"));
  });
  it("says why there is nothing", async () => {
    serve({ layers: layers({ kinds: [], rows: [], steps: [], measures: {}, why: "no training step was looked at." }) });
    const { findByText } = render(<LayersPanel />);
    await findByText("no training step was looked at.");
  });
});

describe("the tabs", () => {
  const ids = (): string[] => placed.value.map((panel) => panel.id).filter((id) => id === "attention" || id === "layers");
  it("are there where something was seen, or when they were asked for", async () => {
    serve({ inside: { attention: 0, layers: 3 } });
    const stop = followInside();
    expect(ids()).toEqual([]);
    verdict.value = aVerdict();
    await waitFor(() => expect(ids()).toEqual(["layers"]));
    showPanel("attention");
    expect(ids()).toEqual(["attention", "layers"]);
    stop();
  });
  it("lead to a line where there is no tensor, and where the server does not know", async () => {
    await goTo("0.5", 3, place);
    expect([part("tensor").value, part("src").value]).toEqual([null, "2:24"]);
  });
});
