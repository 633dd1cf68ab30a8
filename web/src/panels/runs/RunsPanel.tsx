/** All runs of the log directory; one is chosen, or compared with the one on the page. */
import { useEffect } from "preact/hooks";
import { chooseRun } from "../../layout/RunPicker";
import { go } from "../../state/address";
import { runName } from "../../state/name";
import { loadRuns, runs } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { Loading } from "../../widgets/Loading";
import { RunTable } from "./RunTable";
import "./runs.css";

export function RunsPanel() {
  useEffect(() => void loadRuns(), []);
  const all = runs.value;
  if (all === null) return <Loading lines={6} what="Loading the runs" />;
  if (!all.length) return <Empty title="No run yet" command="sleuth run program.py">Record a program; its run appears here while it is still running.</Empty>;
  return (
    <div class="runs">
      <RunTable all={all} now={runName.value} caption="Runs, newest first" choose={chooseRun} compare={(name) => go({ with: name, whole: "compare" })} />
    </div>
  );
}
