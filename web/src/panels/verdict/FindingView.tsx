/** One finding in full: its place, fix, confidence, path and evidence. */
import type { Ending } from "../../api/ending";
import type { Finding } from "../../api/types";
import { setFocus } from "../../state/focus";
import { showPanel } from "../../state/panels";
import { Chain } from "./Chain";
import { endOf } from "./ending";
import { EndView } from "./EndView";
import { Evidence } from "./Evidence";
import { circumstances, otherLine, placeOf } from "./words";

export function FindingView({ finding, end }: { finding: Finding; end: Ending | null }) {
  const own = endOf(finding, end);
  return (
    <div class="finding">
      <div class="finding-main">
        <Where finding={finding} />
        {finding.fix !== null && (
          <p class="finding-row">
            <span class="finding-label">Fix</span>
            <span class="finding-fix">{finding.fix}</span>
          </p>
        )}
        <Row label="Confidence" text={finding.confidence_words} />
        {finding.effects.map((effect, number) => <Row key={number} label={number ? "" : "Effects"} text={effect} />)}
        <Row label="Used in" text={otherLine(finding)} />
        <Row label="Seen" text={finding.seen} />
        <Row label="Others" text={finding.others} />
        {finding.logged.map((said, number) => <Row key={number} label={number ? "" : "Logged"} text={said} />)}
      </div>
      <div class="finding-side">
        {own && <EndView end={own} />}
        <Chain finding={finding} />
        <Evidence finding={finding} />
      </div>
    </div>
  );
}

function Row({ label, text }: { label: string; text: string | null }) {
  if (text === null || text === "") return null;
  return (
    <p class="finding-row">
      <span class="finding-label">{label}</span>
      <span class="quiet">{text}</span>
    </p>
  );
}

function Where({ finding }: { finding: Finding }) {
  const open = (): void => {
    if (finding.tensor !== null) setFocus(finding.tensor);
    showPanel("source", { src: finding.place ? `${finding.place.file}:${finding.place.line}` : null });
  };
  return (
    <div class="where">
      <p class="where-place">
        {finding.place ? <button class="link mono" onClick={open} title={finding.file ?? ""}>{placeOf(finding)}</button> : <span class="mono">{placeOf(finding)}</span>}
        {circumstances(finding).map((words) => <span key={words} class="quiet">{words}</span>)}
      </p>
      {finding.code !== null && <Code finding={finding} code={finding.code} />}
    </div>
  );
}

/** The line, with the expression that the finding is about marked. */
function Code({ finding, code }: { finding: Finding; code: string }) {
  const parts = finding.code_parts;
  if (!parts) return <pre class="where-code">{code.trim()}</pre>;
  return (
    <pre class="where-code">
      {parts[0]}
      <mark class="where-mark">{parts[1]}</mark>
      {parts[2]}
    </pre>
  );
}
