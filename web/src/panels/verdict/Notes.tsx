/** The rest of the verdict: advice, masked values, parts that were not covered or could not be read. */
import type { Finding, Run, Verdict } from "../../api/types";
import { setFocus } from "../../state/focus";
import { many } from "../../widgets/format";
import { base } from "./words";

export function Notes({ run, said }: { run: Run; said: Verdict }) {
  if (!said.masked.length && !said.notes.length && !run.notCovered.length && !run.trouble.length) return null;
  return (
    <div class="notes">
      {said.notes.length > 0 && (
        <details>
          <summary>{many(said.notes.length, "note")}: advice, no problem</summary>
          <ul>{said.notes.map((finding, n) => <Advice key={n} finding={finding} />)}</ul>
        </details>
      )}
      {said.masked.length > 0 && (
        <details>
          <summary>Bad values masked at {many(said.masked.length, "place")}, no harm done</summary>
          <ul>{said.masked.map((finding, n) => <Masked key={n} finding={finding} />)}</ul>
        </details>
      )}
      {run.notCovered.length > 0 && (
        <details>
          <summary>{many(run.notCovered.length, "thing")} not covered</summary>
          <ul>
            {run.notCovered.map((entry, n) => (
              <li key={n}><span class="mono">{entry.what}</span> <span class="quiet">{entry.why}{entry.site ? ` (${entry.site})` : ""}</span></li>
            ))}
          </ul>
        </details>
      )}
      {run.trouble.length > 0 && (
        <details open={run.tensors === 0}>
          <summary class="is-bad">The trace is damaged: {many(run.trouble.length, "part")} could not be read</summary>
          <ul>{run.trouble.map((line) => <li key={line} class="quiet">{line}</li>)}</ul>
          <p class="quiet">What could be read is shown. To see which files: sleuth info {run.name}</p>
        </details>
      )}
    </div>
  );
}

function Advice({ finding }: { finding: Finding }) {
  return <li>{finding.summary.replaceAll(finding.file ?? "\0", base(finding.file ?? ""))} <span class="quiet">{finding.fix}</span></li>;
}

function Masked({ finding }: { finding: Finding }) {
  const place = finding.file === null ? (finding.name ?? "") : `${base(finding.file)}:${finding.line}`;
  const words = `${finding.op ?? "An op"} at ${place}`;
  return <li>{finding.tensor === null ? words : <button class="link" onClick={() => setFocus(finding.tensor)}>{words}</button>} <span class="quiet">{finding.summary.replaceAll(finding.file ?? "\0", base(finding.file ?? ""))}</span></li>;
}
