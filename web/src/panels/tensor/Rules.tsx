/** The broken rules of the tensor in focus: expected and found, in the program's own words. */
import type { BrokenRule } from "../../api/types";
import { showPanel } from "../../state/panels";
import { count } from "../../widgets/format";

export function Rules({ all }: { all: BrokenRule[] }) {
  if (all.length === 0) return null;
  return (
    <section class="tensor-part tensor-rules" aria-label="Rules broken here">
      {all.map((rule, n) => <Rule key={n} rule={rule} />)}
    </section>
  );
}

function Rule({ rule }: { rule: BrokenRule }) {
  const { place } = rule;
  const more = [rule.step !== null && rule.step >= 0 && `step ${count(rule.step)}`, rule.times > 1 && `${count(rule.times)} times at this place`].filter(Boolean).join(" · ");
  return (
    <div class="tensor-rule">
      <p><span class="mark mark-bad">Rule broken</span> {rule.sentence}</p>
      {rule.change !== null && <p class="quiet">{rule.change}</p>}
      <p class="tensor-rule-where">
        {place ? <button class="link mono" title={place.path} onClick={() => showPanel("source", { src: `${place.file}:${place.line}` })}>{rule.line}</button> : rule.line && <span class="mono">{rule.line}</span>}
        {rule.code !== null && <code class="mono quiet cut" title={rule.code}>{rule.code}</code>}
        {more && <span class="faint">{more}</span>}
      </p>
    </div>
  );
}
