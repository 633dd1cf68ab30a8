/** Narrows the list down. */
import { run } from "../../state/run";
import { clearFilters, filtered, filters, HEALTHS, setFilter, type Filter } from "./filters";

const WORDS: Record<(typeof HEALTHS)[number], string> = { bad: "NaN or ∞", nan: "NaN", inf: "∞", zero: "with zeros", healthy: "healthy" };

export function FilterBar() {
  const now = filters.value;
  return (
    <form class="filters" aria-label="Filter tensors" onSubmit={(event) => event.preventDefault()}>
      <span class="filters-names">
        <Text id="name" label="Name" />
        <Text id="op" label="Op type" options={run.value?.opTypes} />
        <Text id="layer" label="Layer" options={run.value?.layers} />
      </span>
      <span class="filters-rest">
        <span class="faint">Step</span>
        <Text id="from" label="Step from" hint="from" number />
        <span class="faint" aria-hidden="true">–</span>
        <Text id="to" label="Step to" hint="to" number />
        <Selects />
        {now.line !== "" && <button type="button" class="filter-chip mono" onClick={() => setFilter("line", "")} aria-label={`No longer only line ${now.line}`}>{now.line} ×</button>}
        {filtered.value && <button type="button" class="link" onClick={clearFilters}>Clear</button>}
      </span>
    </form>
  );
}

function Selects() {
  const now = filters.value;
  return (
    <>
      <select aria-label="Health" value={now.health} data-set={now.health !== ""} onChange={(event) => setFilter("health", event.currentTarget.value)}>
        <option value="">Any health</option>
        {HEALTHS.map((health) => <option key={health} value={health}>{WORDS[health]}</option>)}
      </select>
      <select aria-label="Where computed" value={now.in} data-set={now.in !== ""} onChange={(event) => setFilter("in", event.currentTarget.value)}>
        <option value="">Anywhere</option>
        <option value="graph">In graphs</option>
        <option value="eager">Eager</option>
      </select>
    </>
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
