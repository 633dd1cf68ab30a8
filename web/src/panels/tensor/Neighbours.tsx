/** The inputs or consumers of a tensor; each is a link. */
import type { Neighbour } from "../../api/types";
import { setFocus } from "../../state/focus";
import { count } from "../../widgets/format";
import { shorten } from "../../widgets/shorten";

export function Neighbours({ title, none, all }: { title: string; none: string; all: Neighbour[] }) {
  return (
    <section class={`tensor-part tensor-${title.toLowerCase()}`} aria-label={title}>
      <h4>{title} {all.length > 0 && <span class="faint">{count(all.length)}</span>}</h4>
      {all.length === 0 && <p class="quiet">{none}</p>}
      <ul class="neighbours">{all.map((one, at) => <li key={`${one.op}.${one.id}.${at}`}><Line one={one} /></li>)}</ul>
    </section>
  );
}

function Line({ one }: { one: Neighbour }) {
  const inside = (
    <>
      <span class={`neighbour-dot ${one.bad ? "neighbour-bad" : one.id === null ? "neighbour-unseen" : ""}`} aria-hidden="true" />
      <span class="neighbour-type mono">{one.type}</span>
      <span class="neighbour-name mono cut" title={one.name}>{shorten(one.name, 44)}</span>
      <span class={`neighbour-words cut ${one.bad ? "is-bad" : "quiet"}`} title={one.words}>{one.words}</span>
    </>
  );
  if (one.id === null) return <span class="neighbour" title="It has no row of its own: fused into another op, a constant, or a write.">{inside}</span>;
  const id = one.id;
  return <button type="button" class="plain neighbour" onClick={() => setFocus(id)}>{inside}</button>;
}
