/** The value of a tensor, if it was kept: as a heat map, a histogram, and in numbers. */
import { useSignal } from "@preact/signals";
import type { TensorDetail, Value } from "../../api/types";
import { drift, part } from "../../state/address";
import { ofRun } from "../../state/name";
import { ErrorBox } from "../../widgets/ErrorBox";
import { shape } from "../../widgets/format";
import { Loading } from "../../widgets/Loading";
import { useAnswer } from "../../widgets/useAnswer";
import { HeatMap } from "./HeatMap";
import { Histogram } from "./Histogram";
import { NotKept } from "./NotKept";
import { SliceField } from "./SliceField";
import { PAGE, ValueGrid } from "./ValueGrid";

const sliced = part("slice");

export function ValueSection({ tensor }: { tensor: TensorDetail }) {
  return (
    <section class="tensor-part tensor-value" aria-label="Value">
      {tensor.kept ? <Kept tensor={tensor} /> : <NotKept tensor={tensor} />}
    </section>
  );
}

function Kept({ tensor }: { tensor: TensorDetail }) {
  const begin = useSignal(0);
  const slice = sliced.value;
  const answer = useAnswer<Value>(ofRun(`tensors/${tensor.id}/value`), { slice, begin: begin.value, end: begin.value + PAGE }, false);
  const choose = (text: string): void => {
    begin.value = 0;
    drift({ slice: text.trim() || null });
  };
  return (
    <>
      <h4>Value <span class="faint">{answer.value ? sizes(answer.value) : ""}</span></h4>
      {(tensor.shape?.length ?? 0) > 0 && <SliceField tensor={tensor} slice={slice ?? ""} choose={choose} wrong={answer.error !== null} />}
      {answer.error && <ErrorBox error={answer.error} />}
      {answer.loading && <Loading lines={4} />}
      {answer.value && <Parts value={answer.value} turn={(to) => (begin.value = to)} firstBad={slice === null ? tensor.health.firstBad : null} />}
    </>
  );
}

const sizes = (value: Value): string => (value.total === product(value.of) ? shape(value.of) : `${shape(value.shape)} of ${shape(value.of)}`);
const product = (all: number[]): number => all.reduce((one, other) => one * other, 1);

function Parts({ value, turn, firstBad }: { value: Value; turn: (to: number) => void; firstBad: number | null }) {
  return (
    <>
      {value.heat && value.heat.rows * value.heat.columns > 1 && <HeatMap value={value} heat={value.heat} />}
      {value.histogram && value.total > 1 && <Histogram edges={value.histogram.edges} counts={value.histogram.counts} />}
      <ValueGrid value={value} turn={turn} firstBad={firstBad} />
    </>
  );
}
