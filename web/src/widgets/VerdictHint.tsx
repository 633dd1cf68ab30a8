/** Says that the verdict has findings, in panels that may look as if nothing were wrong. */
import { headline } from "../panels/verdict/words";
import { verdict } from "../state/run";

export function VerdictHint() {
  const [first, ...others] = verdict.value?.findings ?? [];
  if (!first) return null;
  const more = others.length ? ` (and ${others.length} more)` : "";
  return (
    <p class="verdict-hint cut" title={headline(first)}>
      <button type="button" class="link" onClick={openVerdict}>The verdict has more</button>{more}: {headline(first)}
    </p>
  );
}

function openVerdict(): void {
  const toggle = document.getElementById("verdict-toggle");
  if (toggle?.getAttribute("aria-expanded") === "false") toggle.click();
  toggle?.focus();
}
