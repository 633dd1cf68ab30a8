/** Two runs side by side: the first tensor at which they diverge, and the other differences. */
import type { Comparison } from "../../api/types";
import { go, part } from "../../state/address";
import { ofRun, runName } from "../../state/name";
import { runs } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { RunTable } from "../runs/RunTable";
import "../runs/runs.css";
import "./compare.css";
import { Differences } from "./Differences";

const other = part("with");

export function ComparePanel() {
  const name = other.value;
  const answer = useAnswer<Comparison>(name === null ? null : ofRun("compare"), { with: name }, false);
  if (name === null) return <Choose />;
  return (
    <div class="compare">
      <p class="compare-head">
        <span class="mono">{runName.value}</span> <span class="faint">against</span> <span class="mono">{name}</span>
        <button type="button" onClick={() => go({ with: null })}>Another</button>
      </p>
      <Shown answer={answer} lines={8}>{(comparison) => <Differences comparison={comparison} />}</Shown>
    </div>
  );
}

function Choose() {
  const others = (runs.value ?? []).filter((one) => one.name !== runName.value);
  if (!others.length) {
    return <Empty title="There is no second run to compare with" command="sleuth run program.py">Record the program again, with a change or with another seed: both runs then appear here.</Empty>;
  }
  return (
    <div class="compare">
      <p class="compare-head">Which run to compare with? The first tensor at which they part is shown.</p>
      <RunTable all={others} now={runName.value} caption="Runs to compare with" compare={(name) => go({ with: name })} />
    </div>
  );
}
