/** Narrows the list down. */
import { useState } from "preact/hooks";
import { run } from "../../state/run";
import { clearFilters, filtered, filters, type HEALTHS, setFilter, type Filter } from "./filters";

const HEALTH: Record<(typeof HEALTHS)[number], string> = { bad: "NaN or ∞", nan: "NaN", inf: "∞", zero: "with zeros", healthy: "healthy" };

const WHERE = { graph: "In graphs", eager: "Eager" };

export function FilterBar() {
  const [open, setOpen] = useState(false);
  const now = filters.value;
  const more = open || [now.from, now.to, now.in, now.line].some((value) => value !== "");
  return (
    <form class="filters" aria-label="Filter tensors" onSubmit={(event) => event.preventDefault()}>
      <span class="filters-names">
        <Text id="name" label="Name" />
        <Text id="op" label="Op type" options={run.value?.opTypes} />
        <Text id="layer" label="Layer" options={run.value?.layers} />
        <Choice id="health" label="Health" all="Any health" words={HEALTH} />
        {!more && <button type="button" aria-expanded={false} onClick={() => setOpen(true)} aria-label="More filters" title="Step, where computed">⋯</button>}
      </span>
      {more && <Rest />}
      {filtered.value && !more && <button type="button" class="link" onClick={clearFilters}>Clear</button>}
    </form>
  );
}

function Rest() {
  const { line } = filters.value;
  return (
    <span class="filters-rest">
      <span class="faint">Step</span>
      <Text id="from" label="Step from" hint="from" number />
      <span class="faint" aria-hidden="true">–</span>
      <Text id="to" label="Step to" hint="to" number />
      <Choice id="in" label="Where computed" all="Anywhere" words={WHERE} />
      {line !== "" && <button type="button" class="filter-chip mono cut" onClick={() => setFilter("line", "")} aria-label={`No longer only line ${line}`}>{line} ×</button>}
      {filtered.value && <button type="button" class="link" onClick={clearFilters}>Clear</button>}
    </span>
  );
}

function Choice({ id, label, all, words }: { id: Filter; label: string; all: string; words: Record<string, string> }) {
  const value = filters.value[id];
  return (
    <select aria-label={label} value={value} data-set={value !== ""} onChange={(event) => setFilter(id, event.currentTarget.value)}>
      <option value="">{all}</option>
      {Object.entries(words).map(([one, text]) => <option key={one} value={one}>{text}</option>)}
    </select>
  );
}

function Text({ id, label, hint, options, number }: { id: Filter; label: string; hint?: string; options?: string[] | undefined; number?: boolean }) {
  const list = options?.length ? `${id}-options` : undefined;
  const value = filters.value[id];
  return (
    <>
      <input
        class={`mono${number ? " filter-number" : ""}`}
        aria-label={label}
        placeholder={hint ?? label}
        value={value}
        data-set={value !== ""}
        list={list}
        inputMode={number ? "numeric" : "text"}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setFilter(id, number ? event.currentTarget.value.replace(/\D/g, "") : event.currentTarget.value, true)}
      />
      {list && <datalist id={list}>{options?.map((name) => <option key={name} value={name} />)}</datalist>}
    </>
  );
}
