/** Chooses the run that the page is about. */
import { useEffect, useRef, useState } from "preact/hooks";
import { exported } from "../api/client";
import type { RunSummary } from "../api/types";
import { go } from "../state/address";
import { runName } from "../state/name";
import { loadRuns, run, runs } from "../state/run";
import { badness } from "../widgets/badness";
import { ago, seconds } from "../widgets/format";

export function RunPicker() {
  return exported() ? <Alone /> : <Picker />;
}

/** An exported page is about one run. */
function Alone() {
  return (
    <span class="picker-alone" title="This page was exported: it holds this one run. Others: sleuth view">
      <span class="picker-name mono">{run.value?.program ?? runName.value}</span>
      {run.value?.started != null && <span class="faint picker-when">{ago(run.value.started)}</span>}
    </span>
  );
}

function Picker() {
  const [open, setOpen] = useState(false);
  const toggle = (): void => {
    if (!open) void loadRuns();
    setOpen(!open);
  };
  return (
    <div class="picker">
      <button id="run-picker" class="picker-button" onClick={toggle} aria-haspopup="listbox" aria-expanded={open} title="Choose another run (r)">
        <span class="picker-name mono">{run.value?.program ?? runName.value ?? "No run"}</span>
        {run.value?.started != null && <span class="faint picker-when">{ago(run.value.started)}</span>}
        <span class="faint" aria-hidden="true">
          ▾
        </span>
      </button>
      {open && <Choices close={() => setOpen(false)} />}
    </div>
  );
}

function Choices({ close }: { close: () => void }) {
  const ref = useRef<HTMLDivElement>(null);
  const all = runs.value ?? [];
  const [at, setAt] = useState(Math.max(0, all.findIndex((one) => one.name === runName.value)));
  useEffect(() => ref.current?.focus(), []);
  const choose = (one: RunSummary | undefined): void => {
    if (one) chooseRun(one.name);
    close();
    document.getElementById("run-picker")?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (by !== undefined) setAt(Math.min(all.length - 1, Math.max(0, at + by)));
    else if (event.key === "Enter" || event.key === " ") choose(all[at]);
    else if (event.key === "Escape") choose(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="choices" role="listbox" aria-label="Runs" tabIndex={0} ref={ref} onKeyDown={press} onBlur={close} aria-activedescendant={`run-${at}`}>
      {all.length === 0 && <p class="quiet choice">No run in this log directory yet.</p>}
      {all.map((one, n) => (
        <Choice key={one.name} one={one} n={n} at={n === at} choose={() => choose(one)} />
      ))}
    </div>
  );
}

function Choice({ one, n, at, choose }: { one: RunSummary; n: number; at: boolean; choose: () => void }) {
  return (
    <div id={`run-${n}`} class={`choice${at ? " choice-at" : ""}`} role="option" aria-selected={one.name === runName.value} onMouseDown={(event) => (event.preventDefault(), choose())}>
      <span class="choice-program mono cut">{one.program}</span>
      <span class={one.bad ? "is-bad" : "quiet"}>{badness(one)}</span>
      <span class="choice-name mono faint cut">{one.name}</span>
      <span class="faint">{[one.status === "running" ? "running" : one.ending || one.status, one.seconds !== null && seconds(one.seconds), one.started !== null && ago(one.started)].filter(Boolean).join(" · ")}</span>
    </div>
  );
}

/** Switches to another run, and drops the choices of the previous one. */
export function chooseRun(name: string): void {
  go({ run: name, tensor: null, src: null, kind: null, whole: null, time: null, scalar: null, slice: null, open: null, close: null, at: null, with: null });
}
