/** In the head of the flame chart: which step, closer and farther. */
import { count, seconds } from "../../widgets/format";
import { isWhole } from "../timeline/view";
import { showAll, zoomIn, zoomOut } from "./input";
import { asTable, chosen, shown, showStep, view, whole } from "./state";

const USUAL = "usual";

export function FlameTools() {
  const flame = shown.value;
  if (!flame || flame.step === null) return null;
  const { step, previous, next } = flame;
  return (
    <div class="timeline-bar">
      <StepChoice />
      <button type="button" aria-label="The step before" title="The step before" disabled={previous === null} onClick={() => showStep(previous)}>‹</button>
      <button type="button" aria-label="The next step" title="The next step" disabled={next === null} onClick={() => showStep(next)}>›</button>
      <span class="timeline-stretch quiet">{`step ${count(step)}, ${seconds(flame.to - flame.from)}`}</span>
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomOut()}>−</button>
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomIn()}>+</button>
      <button type="button" disabled={isWhole(view.value, whole.value)} title="The whole step (Home, or double click)" onClick={showAll}>All</button>
      <button type="button" aria-pressed={asTable.value} title="The same as a table" onClick={() => (asTable.value = !asTable.value)}>Table</button>
    </div>
  );
}

function StepChoice() {
  const { slowest, step } = shown.value!;
  const value = chosen.value === null ? USUAL : String(chosen.value);
  const listed = chosen.value === null || slowest.some((slow) => slow.step === chosen.value);
  return (
    <select aria-label="Which step" value={value} onChange={(event) => showStep(event.currentTarget.value === USUAL ? null : Number(event.currentTarget.value))}>
      <option value={USUAL}>a usual step</option>
      {!listed && <option value={value}>{`step ${count(step!)}`}</option>}
      <optgroup label="the slowest">
        {slowest.map((slow) => (
          <option key={slow.step} value={String(slow.step)}>{`step ${count(slow.step)} · ${seconds(slow.seconds)}${slow.first ? ", a first call" : ""}`}</option>
        ))}
      </optgroup>
    </select>
  );
}
