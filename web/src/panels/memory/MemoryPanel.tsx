/** Memory: resident memory over time, the tensors in it, and the breakdown of one moment. */
import { useEffect } from "preact/hooks";
import type { Memory, MemoryMoment } from "../../api/memory";
import { ofRun, runName } from "../../state/name";
import { run } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { useLast } from "../../widgets/useLast";
import { MemoryChart } from "./MemoryChart";
import { Moment } from "./Moment";
import { chosen, curveParams, momentParams, shown } from "./state";
import { caveat } from "./words";
import "./memory.css";

export function MemoryPanel() {
  return <OfRun key={runName.value} />;
}

function OfRun() {
  const answer = useAnswer<Memory>(ofRun("memory"), curveParams());
  const memory = useLast(answer.value);
  useEffect(() => {
    if (answer.value) shown.value = answer.value;
  }, [answer.value]);
  return <Shown answer={{ ...answer, value: memory }} lines={4}>{(one) => (one.process === null ? <Nothing /> : <Sampled memory={one} />)}</Shown>;
}

function Sampled({ memory }: { memory: Memory }) {
  const answer = useAnswer<MemoryMoment>(ofRun("memory/at"), momentParams());
  const moment = useLast(answer.value);
  const at = chosen.value ?? moment?.seconds ?? null;
  return (
    <div class="memory">
      <div class="memory-halves">
        <MemoryChart memory={memory} at={at} />
        <div class={`memory-side${answer.loading ? " is-stale" : ""}`} aria-busy={answer.loading}>
          <Shown answer={{ ...answer, value: moment }} lines={4}>{(one) => <Moment moment={one} caveat={caveat(memory)} />}</Shown>
        </div>
      </div>
    </div>
  );
}

function Nothing() {
  if (run.value?.live) return <Empty title="No sample yet">How much memory the program uses appears here.</Empty>;
  return (
    <Empty title="This run says nothing about memory" command={`sleuth run ${run.value?.program ?? "train.py"}`}>
      It was recorded without the native library, or before recordings did. Record it again:
    </Empty>
  );
}
