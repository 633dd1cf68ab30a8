/** The tensor in focus: its op, health, inputs, history and value. */
import type { TensorDetail } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { verdict } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { ErrorBox } from "../../widgets/ErrorBox";
import { Loading } from "../../widgets/Loading";
import { useAnswer } from "../../widgets/useAnswer";
import { useLast } from "../../widgets/useLast";
import { Heading } from "./Heading";
import { HistorySection } from "./HistorySection";
import { Neighbours } from "./Neighbours";
import { Rules } from "./Rules";
import { ValueSection } from "./ValueSection";
import "./tensor.css";

export function TensorPanel() {
  const id = focus.value;
  const detail = useAnswer<TensorDetail>(id === null ? null : ofRun(`tensors/${id}`));
  const tensor = useLast(detail.value);
  if (id === null && verdict.value === null) return <Loading lines={6} />; // the verdict decides what to show first
  if (id === null) return <Empty title="No tensor in focus">Click one in the list, the timeline or the graph: this panel shows what was in it.</Empty>;
  if (detail.error) return <ErrorBox error={detail.error} />;
  if (!tensor) return <Loading lines={8} what="Loading the tensor" />;
  return (
    <div class={tensor.id === id ? "tensor" : "tensor is-stale"} aria-busy={tensor.id !== id}>
      <div class="tensor-parts">
        <Rules all={tensor.violations} />
        <Heading tensor={tensor} />
        <HistorySection tensor={tensor} />
        <ValueSection key={tensor.id} tensor={tensor} />
        <Neighbours title="Inputs" none="Nothing that was recorded went in." all={tensor.inputs} />
        <Neighbours title="Consumers" none="Nothing took it." all={tensor.consumers} />
      </div>
    </div>
  );
}
