/** In the head of the timeline: which scalar, which stretch, closer and farther. */
import { showAll, zoomIn, zoomOut } from "./input";
import { asTable, bins, chooseScalar, clipped, late, scalar, scalars, showSteps, view, whole } from "./state";
import { duration, isWhole } from "./view";

export function TimelineTools() {
  if (!bins.value?.lanes.length) return null;
  return (
    <div class="timeline-bar">
      <ScalarChoice />
      <span class="timeline-stretch quiet">{stretchWords()}</span>
      {late.value !== null && !clipped.value && <button type="button" title={`From the second step on: the first took until ${duration(late.value)}`} onClick={showSteps}>Steps</button>}
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomOut()}>−</button>
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomIn()}>+</button>
      <button type="button" disabled={isWhole(view.value, whole.value)} title="The whole run (Home, or double click)" onClick={showAll}>All</button>
      <button type="button" aria-pressed={asTable.value} title="The same as a table" onClick={() => (asTable.value = !asTable.value)}>Table</button>
    </div>
  );
}

function stretchWords(): string {
  const { from, to } = view.value;
  const step = (to - from) / 1000;
  if (clipped.value) return `${duration(from, step)} – ${duration(to, step)}, without the first step`;
  return isWhole(view.value, whole.value) ? duration(to - from) : `${duration(from, step)} – ${duration(to, step)}`;
}

function ScalarChoice() {
  if (!scalars.value.length) return <span class="faint timeline-scalar">no scalar was recorded</span>;
  return (
    <label class="timeline-scalar">
      <span class="timeline-swatch" aria-hidden="true" />
      <span class="unseen">Scalar drawn over the timeline</span>
      <select value={scalar.value?.op ?? "none"} onChange={(event) => chooseScalar(event.currentTarget.value)}>
        {scalars.value.map((one) => (
          <option key={one.op} value={one.op}>{one.label === one.name ? one.name : `${one.label} · ${one.name}`}</option>
        ))}
        <option value="none">no scalar</option>
      </select>
    </label>
  );
}
