/** How many bad tensors there are, by kind; a click goes to the first. */
import type { AlertKind, Alerts as Answer } from "../../api/types";
import { chooseKind, jump, kind } from "../../state/alerts";
import { ofRun } from "../../state/name";
import { run } from "../../state/run";
import { count } from "../../widgets/format";
import { Loading } from "../../widgets/Loading";
import { ErrorBox } from "../../widgets/ErrorBox";
import { useAnswer } from "../../widgets/useAnswer";
import { BrokenRules } from "./BrokenRules";
import "./alerts.css";

const NAMES: Record<AlertKind, string> = { nan: "NaN", neg_inf: "−∞", pos_inf: "+∞", violation: "Rule broken", error: "Error" };

export function Alerts() {
  const { value, error } = useAnswer<Answer>(ofRun("alerts"), { begin: 0, end: 1 });
  if (error) return <ErrorBox error={error} />;
  if (!value) return <Loading lines={1} />;
  if (value.counts.length === 0 && value.violations.length === 0) return <p class="alerts-none quiet">{none()}</p>;
  return (
    <div class="alerts">
      {value.counts.map((one) => (
        <button key={one.kind} class="alert" aria-pressed={kind.value === one.kind} title={`Go to the first; n and p keep to ${NAMES[one.kind]}`} onClick={() => (kind.value === one.kind ? chooseKind(null, null) : chooseKind(one.kind, one.first))}>
          <span class={`alert-sign alert-${one.kind}`} />
          <span>{NAMES[one.kind]}</span>
          <span class="alert-count">{count(one.count)}</span>
        </button>
      ))}
      <span class="alerts-walk" role="group" aria-label="From alert to alert">
        <button onClick={() => void jump("previous")} title="Previous alert (p)" aria-label="Previous alert">‹</button>
        <button onClick={() => void jump("next")} title="Next alert (n)" aria-label="Next alert">›</button>
      </span>
      <BrokenRules all={value.violations} />
    </div>
  );
}

function none(): string {
  if (run.value && !run.value.records.health) return `Mode ${run.value.mode} records no values: there can be no alert.`;
  if (run.value?.tensors === 0) return "Nothing was recorded yet.";
  if (run.value?.mode === "FLIGHT") return "None: no call went bad.";
  return "None: no tensor had a NaN or an infinity.";
}
