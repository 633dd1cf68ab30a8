/** The neighbourhood of the op in focus: inputs above it, consumers below. */
import { useMemo } from "preact/hooks";
import type { Neighbourhood } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { verdict } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { count } from "../../widgets/format";
import { ErrorBox } from "../../widgets/ErrorBox";
import { Loading } from "../../widgets/Loading";
import { useAnswer } from "../../widgets/useAnswer";
import { useLast } from "../../widgets/useLast";
import { Depth } from "./Depth";
import { Drawing } from "./Drawing";
import { layout } from "./layout";
import { Legend } from "./Legend";
import { asked } from "./state";
import "./graph.css";

export function GraphPanel() {
  const params = asked.value;
  const answer = useAnswer<Neighbourhood>(params === null ? null : ofRun("graph"), params ?? {}, false);
  const part = useLast(answer.value);
  const laid = useMemo(() => part && layout(part), [part]);
  if (focus.value === null && verdict.value === null) return <Loading lines={5} />; // the verdict decides what to show first
  if (focus.value === null) return <Empty title="No op in focus">Click a tensor in the list, the timeline or an alert: the graph around it is drawn here.</Empty>;
  if (answer.error && !part) return <ErrorBox error={answer.error} />;
  if (!part || !laid) return <Loading lines={5} what="Loading the graph" />;
  return (
    <div class="graph">
      <div class="graph-bar">
        <Depth which="up" label="inputs" />
        <Depth which="down" label="consumers" />
        <span class="graph-more quiet" role="status">{part.more > 0 && `${count(part.more)} more left out`}</span>
      </div>
      {answer.error && <ErrorBox error={answer.error} />}
      <Drawing part={part} laid={laid} />
      <Legend part={part} />
    </div>
  );
}
