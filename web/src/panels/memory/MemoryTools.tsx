/** In the head of the memory panel: which process, which moment, and how to group. */
import type { By } from "../../api/memory";
import { bytes } from "../../widgets/format";
import { addUpBy, by, BYS, chosen, shown, showMoment, showProcess } from "./state";

export function MemoryTools() {
  const memory = shown.value;
  if (!memory || memory.process === null) return null;
  return (
    <div class="timeline-bar">
      {memory.processes.length > 1 && (
        <select aria-label="Process" value={memory.process} onChange={(event) => showProcess(Number(event.currentTarget.value))}>
          {memory.processes.map((one) => <option key={one.number} value={one.number}>{`${one.name} · ${bytes(one.peak)}`}</option>)}
        </select>
      )}
      <span class="timeline-stretch quiet">{`at most ${bytes(memory.peak)}, ${memory.limit === null ? "no limit" : `limit ${bytes(memory.limit)}`}`}</span>
      <button type="button" disabled={chosen.value === null} title="Open up the peak (Home)" onClick={() => showMoment(null)}>Peak</button>
      <select aria-label="Add up by" value={by.value} onChange={(event) => addUpBy(event.currentTarget.value as By)}>
        {Object.entries(BYS).map(([name, words]) => <option key={name} value={name}>{`by ${words}`}</option>)}
      </select>
    </div>
  );
}
