/** The results of a search, and what choosing one does. */
import type { Run, TensorRow } from "../api/types";
import { go } from "../state/address";
import { setFocus } from "../state/focus";
import { showPanel } from "../state/panels";
import { when } from "../widgets/format";

export interface Hit {
  kind: "line" | "layer" | "op" | "file" | "tensor" | "number";
  name: string;
  more: string;
  act: () => void;
}

const EACH = 4;
const CLEARED = { name: null, op: null, layer: null, from: null, to: null, health: null, line: null };

/** Best first; `tensors` are those that the server found by name. */
export function found(text: string, run: Run, tensors: TensorRow[]): Hit[] {
  if (text === "") return [];
  return [...lines(text, run), ...numbers(text), ...layers(text, run), ...ops(text, run), ...files(text, run), ...tensors.map(tensor)];
}

/** "train.py:18": the tensors of that line. */
function lines(text: string, run: Run): Hit[] {
  const [, name, line] = /^(.+):(\d+)$/.exec(text) ?? [];
  const files = run.files.filter((file) => name !== undefined && (file.name === name || file.path.endsWith(`/${name}`)));
  return files.slice(0, EACH).map((file) => ({
    kind: "line",
    name: `${file.name}:${line}`,
    more: "what it computed",
    act: () => showPanel("source", { ...CLEARED, line: `${file.name}:${line}`, src: `${file.number}:${line}` }),
  }));
}

/** "0.1841", as the page's address has it. */
function numbers(text: string): Hit[] {
  return /^\d+\.\d+$/.test(text) ? [{ kind: "number", name: text, more: "the tensor of that number", act: () => setFocus(text) }] : [];
}

function layers(text: string, run: Run): Hit[] {
  return matching(run.layers, text).map((name) => ({ kind: "layer", name, more: "show its tensors", act: () => go({ ...CLEARED, layer: name }) }));
}

function ops(text: string, run: Run): Hit[] {
  return matching(run.opTypes, text).map((name) => ({ kind: "op", name, more: "show all of this type", act: () => go({ ...CLEARED, op: name }) }));
}

function files(text: string, run: Run): Hit[] {
  const named = run.files.filter((file) => file.user && file.name.toLowerCase().includes(text.toLowerCase()));
  return named.slice(0, EACH).map((file) => ({ kind: "file", name: file.name, more: "open the source", act: () => showPanel("source", { src: `${file.number}:1` }) }));
}

function tensor(row: TensorRow): Hit {
  return { kind: "tensor", name: row.name, more: when(row), act: () => setFocus(row.id) };
}

/** Those that begin with the text come first. */
function matching(names: string[], text: string): string[] {
  const low = text.toLowerCase();
  const hits = names.filter((name) => name.toLowerCase().includes(low));
  const rank = (name: string): number => (name.toLowerCase() === low ? 0 : name.toLowerCase().startsWith(low) ? 1 : 2);
  return hits.sort((a, b) => rank(a) - rank(b)).slice(0, EACH);
}
