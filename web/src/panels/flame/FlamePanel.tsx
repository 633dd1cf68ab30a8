/** The timeline of one step: threads, functions, layers, ops; and the breakdown of its time. */
import { useEffect } from "preact/hooks";
import type { Flame } from "../../api/types";
import { ofRun } from "../../state/name";
import { Empty } from "../../widgets/Empty";
import { count, seconds } from "../../widgets/format";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { FlameChart } from "./FlameChart";
import { FlameTable } from "./FlameTable";
import { asTable, chosen, shown } from "./state";
import { percent } from "./words";
import "./flame.css";

export function FlamePanel() {
  const answer = useAnswer<Flame>(ofRun("flame"), chosen.value === null ? {} : { step: chosen.value });
  useEffect(() => {
    if (answer.value) shown.value = answer.value;
  }, [answer.value]);
  return <Shown answer={answer} lines={4}>{(flame) => <Step flame={flame} />}</Shown>;
}

function Step({ flame }: { flame: Flame }) {
  if (flame.step === null) return <Empty title="Nothing has run yet">What each step spends its time on appears here.</Empty>;
  return (
    <div class="flame">
      <Split flame={flame} />
      {asTable.value ? <FlameTable flame={flame} /> : <FlameChart flame={flame} />}
    </div>
  );
}

/** The parts of the step's time, in words, without parts that are zero. */
function Split({ flame }: { flame: Flame }) {
  const parts = flame.split.filter((part) => part.share >= 0.001);
  return (
    <ul class="flame-split" aria-label="What the step's time went into">
      {parts.map((part) => (
        <li key={part.part} title={seconds(part.seconds)}>
          <span class={`flame-swatch flame-${part.part}`} aria-hidden="true" /> {part.words} <b>{percent(part.share)}</b>
        </li>
      ))}
      {flame.leftOut > 0 && <li class="faint">{count(flame.leftOut)} shorter bars are left out</li>}
    </ul>
  );
}
