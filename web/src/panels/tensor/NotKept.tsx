/** Why there is no value, and how to have one the next time. */
import type { TensorDetail } from "../../api/types";
import { run } from "../../state/run";
import { Empty } from "../../widgets/Empty";

export function NotKept({ tensor }: { tensor: TensorDetail }) {
  const now = run.value;
  if (!now) return null;
  if (now.records.values) {
    return (
      <Empty title="This value is no longer there">
        FULL_TENSOR keeps values in up to 1 GiB, used round and round: later ones took its place. To keep these, record fewer ops.
        <code class="command tensor-command">{command(now.program, `--op-regex ${tensor.type}`)}</code>
      </Empty>
    );
  }
  return (
    <Empty title="Values were not recorded">
      This run was recorded in mode {now.mode}, which keeps no values. FULL_TENSOR does; with <code>--op-regex</code>, only of the ops that matter.
      <code class="command tensor-command">{command(now.program)}</code>
      <code class="command tensor-command">{command(now.program, `--op-regex ${tensor.type}`)}</code>
    </Empty>
  );
}

const command = (program: string, more = ""): string => ["sleuth run --mode FULL_TENSOR", more, program].filter(Boolean).join(" ");
