/** Steps and executions over time: a lane for each thread, device and worker; a scalar above them. */
import { useEffect } from "preact/hooks";
import { runName } from "../../state/focus";
import { Empty } from "../../widgets/Empty";
import { ErrorBox } from "../../widgets/ErrorBox";
import { Loading } from "../../widgets/Loading";
import { Chart } from "./Chart";
import { asTable, bins, followTimeline, trouble } from "./state";
import { LaneTable } from "./LaneTable";
import "./timeline.css";

export function TimelinePanel() {
  useEffect(followTimeline, []);
  if (runName.value === null) return null;
  if (trouble.value) return <ErrorBox error={trouble.value} />;
  const known = bins.value;
  if (!known) return <Loading lines={4} what="Loading the timeline" />;
  if (!known.lanes.length) return <Empty title="Nothing has run yet">What the program computes appears here, step by step, as it is computed.</Empty>;
  return (
    <div class="timeline">
      {asTable.value ? <LaneTable timeline={known} /> : <Chart />}
    </div>
  );
}
