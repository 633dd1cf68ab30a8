/** One field for everything that has a name: tensors, layers, ops, lines. */
import { useEffect, useState } from "preact/hooks";
import type { PageOf, TensorRow } from "../api/types";
import { exported } from "../api/client";
import { ofRun } from "../state/name";
import { run } from "../state/run";
import { useAnswer } from "../widgets/useAnswer";
import { useDelayed } from "../widgets/useDelayed";
import { found, type Hit } from "./found";

export function Search() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const asked = useDelayed(text.trim(), 120);
  const path = asked && open && !exported() ? ofRun("tensors") : null;
  const tensors = useAnswer<PageOf<TensorRow>>(path, { name: asked, begin: 0, end: 6 }, false).value;
  const hits = open && run.value ? found(text.trim(), run.value, tensors?.items ?? []) : [];
  useEffect(() => setAt(0), [text]);
  const take = (hit: Hit | undefined): void => {
    if (!hit) return;
    hit.act();
    setOpen(false);
    (document.activeElement as HTMLElement | null)?.blur();
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) setAt((at + by + hits.length) % Math.max(1, hits.length));
    else if (event.key === "Enter") take(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="search" role="search">
      <input
        id="search"
        role="combobox"
        aria-expanded={hits.length > 0}
        aria-controls="search-hits"
        aria-activedescendant={hits.length ? `hit-${at}` : undefined}
        aria-label="Search tensors, layers, ops, lines"
        placeholder="Search  /"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setOpen(true))}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      {open && text.trim() !== "" && (
        <ul id="search-hits" class="hits" role="listbox" aria-label="Found">
          {hits.map((hit, n) => (
            <li key={n} id={`hit-${n}`} class={`hit${n === at ? " hit-at" : ""}`} role="option" aria-selected={n === at} onMouseDown={(event) => (event.preventDefault(), take(hit))}>
              <span class="hit-kind faint">{hit.kind}</span>
              <span class="mono cut">{hit.name}</span>
              <span class="faint cut">{hit.more}</span>
            </li>
          ))}
          {hits.length === 0 && <li class="hit quiet">Nothing has that name.</li>}
        </ul>
      )}
    </div>
  );
}
