/** The names beside the lanes; the name of a group opens it. */
import { AXIS, LANE, STEPS } from "./geometry";
import type { Row } from "./rows";
import { scalar, turn } from "./state";

export function LaneNames({ rows, top }: { rows: Row[]; top: number }) {
  return (
    <>
      <ul class="timeline-names" style={{ paddingTop: `${top}px` }}>
        {rows.map((row) => (
          <li key={row.id} class={`timeline-name depth-${row.depth}`} style={{ height: `${LANE}px` }} title={row.name}>
            {row.open === null ? <span class="cut">{row.name}</span> : <GroupName id={row.id} name={row.name} open={row.open} />}
          </li>
        ))}
      </ul>
      <div class="timeline-names-top" aria-hidden="true" style={{ height: `${top}px` }}>
        <span style={{ top: `${AXIS}px`, height: `${STEPS}px` }}>steps</span>
        {scalar.value && <span class="cut" title={scalar.value.label} style={{ top: `${AXIS + STEPS + 6}px` }}>{scalar.value.label}</span>}
      </div>
    </>
  );
}

function GroupName({ id, name, open }: { id: string; name: string; open: boolean }) {
  return (
    <button type="button" class="plain cut" aria-expanded={open} onClick={() => turn(id)}>
      <span aria-hidden="true">{open ? "▾" : "▸"}</span> {name}
    </button>
  );
}
