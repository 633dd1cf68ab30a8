/** The tensor in focus: what it is, how it fares, what it came from, how it went over the run, what was in it. */
import type { TensorDetail } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { verdict } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { Loading } from "../../widgets/Loading";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { Heading } from "./Heading";
import { HistorySection } from "./HistorySection";
import { Neighbours } from "./Neighbours";
import { ValueSection } from "./ValueSection";
import "./tensor.css";

export function TensorPanel() {
  const id = focus.value;
  const detail = useAnswer<TensorDetail>(id === null ? null : ofRun(`tensors/${id}`));
  if (id === null && verdict.value === null) return <Loading lines={6} />; // which says what to look at first
  if (id === null) return <Empty title="No tensor in focus">Click one in the list, the timeline or the graph: this panel shows what was in it.</Empty>;
  return (
    <Shown answer={detail} lines={8}>
      {(tensor) => (
        <div class="tensor">
          <div class="tensor-parts">
            <Heading tensor={tensor} />
            <HistorySection tensor={tensor} />
            <ValueSection key={tensor.id} tensor={tensor} />
            <Neighbours title="Inputs" none="Nothing that was recorded went in." all={tensor.inputs} />
            <Neighbours title="Consumers" none="Nothing took it." all={tensor.consumers} />
          </div>
        </div>
      )}
    </Shown>
  );
}
