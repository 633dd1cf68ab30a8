/** Broken rules, a line each; a click goes to the tensor of the rule. */
import { useState } from "preact/hooks";
import type { BrokenRule } from "../../api/types";
import { chooseKind } from "../../state/alerts";
import { focus } from "../../state/focus";
import { count, many } from "../../widgets/format";

const SHOWN = 2;

export function BrokenRules({ all }: { all: BrokenRule[] }) {
  const [open, setOpen] = useState(false);
  if (all.length === 0) return null;
  const shown = open ? all : all.slice(0, SHOWN);
  return (
    <ul class="rules" aria-label="Rules that were broken">
      {shown.map((rule, n) => <li key={n}><Line rule={rule} /></li>)}
      {all.length > SHOWN && <li><button class="link" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Fewer" : `${many(all.length - SHOWN, "more rule")}`}</button></li>}
    </ul>
  );
}

function Line({ rule }: { rule: BrokenRule }) {
  const said = (
    <>
      <span class="rule-words">{rule.sentence}</span>
      <span class="faint rule-where">{[rule.line, rule.times > 1 && `${count(rule.times)} times`].filter(Boolean).join(" · ")}</span>
    </>
  );
  if (rule.tensor === null) return <p class="rule">{said}</p>;
  return (
    <button class="plain rule" aria-current={rule.tensor === focus.value} title={rule.sentence} onClick={() => chooseKind("violation", rule.tensor)}>
      {said}
    </button>
  );
}
