/** The verdict of `sleuth why`, at the top of the page. */
import { useState } from "preact/hooks";
import type { Verdict as Verdicts } from "../../api/types";
import { setFocus } from "../../state/focus";
import { run, verdict } from "../../state/run";
import { recall, remember } from "../../state/storage";
import { Loading } from "../../widgets/Loading";
import { FindingView } from "./FindingView";
import { Healthy } from "./Healthy";
import { Notes } from "./Notes";
import { headline } from "./words";
import "./verdict.css";

export function Verdict() {
  const [open, setOpen] = useState(recall("verdict") !== "closed");
  const toggle = (): void => {
    remember("verdict", open ? "closed" : null);
    setOpen(!open);
  };
  const said = verdict.value;
  const bad = said !== null && said.findings.length > 0;
  if (!said || (!bad && !run.value)) return <section class="verdict" aria-label="Verdict"><Loading lines={3} what="Looking for the cause" /></section>;
  return (
    <section class={`verdict ${bad ? "verdict-bad" : ""}`} aria-label="Verdict">
      {bad && <Problem said={said} open={open} toggle={toggle} />}
      {!bad && run.value && <Healthy run={run.value} said={said} />}
      {(open || !bad) && run.value && <Notes run={run.value} said={said} />}
    </section>
  );
}

function Problem({ said, open, toggle }: { said: Verdicts; open: boolean; toggle: () => void }) {
  const [chosen, choose] = useState(0);
  const at = Math.min(chosen, said.findings.length - 1);
  const finding = said.findings[at];
  if (!finding) return null;
  const show = (n: number): void => {
    choose(n);
    const next = said.findings[n];
    if (next?.tensor) setFocus(next.tensor);
  };
  return (
    <>
      <header class="verdict-head">
        <span class="mark mark-bad">Problem</span>
        <h2 class="verdict-summary">
          {finding.tensor === null ? headline(finding) : <button class="plain verdict-button" onClick={() => setFocus(finding.tensor)} title="Show it in every panel">{headline(finding)}</button>}
        </h2>
        {said.findings.length > 1 && <Turn at={at} of={said.findings.length} show={show} />}
        <button id="verdict-toggle" class="link" aria-expanded={open} onClick={toggle} title="Open or close (v)">
          {open ? "Less" : "More"}
        </button>
      </header>
      {open && <FindingView finding={finding} end={said.end} />}
    </>
  );
}

function Turn({ at, of, show }: { at: number; of: number; show: (n: number) => void }) {
  return (
    <span class="turn" role="group" aria-label="Findings">
      <button aria-label="Finding before" disabled={at === 0} onClick={() => show(at - 1)}>‹</button>
      <span class="quiet">{at + 1} of {of}</span>
      <button aria-label="Next finding" disabled={at === of - 1} onClick={() => show(at + 1)}>›</button>
    </span>
  );
}
