/** Layers by steps in one picture: outputs, gradients, and the size of updates. */
import { useMemo } from "preact/hooks";
import { type LayerKind, type Layers, type Measure, unpacked } from "../../api/inside";
import { drift, part } from "../../state/address";
import { ofRun } from "../../state/name";
import { Empty } from "../../widgets/Empty";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { VerdictHint } from "../../widgets/VerdictHint";
import { LayerMap } from "./LayerMap";
import { type Cells, KINDS, leftOut, MEASURES, ORDER } from "./words";
import "./layers.css";

const kind = part("layers");
const measure = part("measure");

export function LayersPanel() {
  const asked = kind.value !== null && kind.value in KINDS ? kind.value : null;
  const answer = useAnswer<Layers>(ofRun("layers"), asked === null ? {} : { kind: asked });
  return <Shown answer={answer} lines={6}>{(layers) => <Chosen layers={layers} />}</Shown>;
}

function Chosen({ layers }: { layers: Layers }) {
  const cells = useMemo(() => read(layers), [layers]);
  const offered = ORDER.filter((one) => cells.measures[one] !== undefined);
  const drawn = offered.find((one) => one === measure.value) ?? offered[0];
  if (layers.kinds.length === 0) return <Empty title="Nothing was seen inside of the model">{layers.why}</Empty>;
  return (
    <div class="layers">
      <div class="layers-tools">
        <Choice label="Of what" value={layers.kind} options={layers.kinds.map((one) => [one, KINDS[one]])} choose={(one) => drift({ layers: one, measure: null })} />
        {drawn && <Choice label="Measure" value={drawn} options={offered.map((one) => [one, MEASURES[one]])} choose={(one) => drift({ measure: one })} />}
        {leftOut(layers) && <span class="faint">{leftOut(layers)}</span>}
      </div>
      <VerdictHint />
      {drawn ? <LayerMap layers={layers} cells={cells} drawn={drawn} /> : <Empty title={`No ${KINDS[layers.kind]} were seen`}>{layers.why}</Empty>}
    </div>
  );
}

function Choice<T extends LayerKind | Measure>({ label, value, options, choose }: { label: string; value: T; options: [T, string][]; choose: (one: T) => void }) {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
      {options.map(([one, word]) => <option key={one} value={one}>{word}</option>)}
    </select>
  );
}

function read(layers: Layers): Cells {
  const measures = Object.fromEntries(Object.entries(layers.measures).map(([name, text]) => [name, unpacked(text)]));
  return { measures, bad: layers.bad === null ? null : unpacked(layers.bad) };
}
