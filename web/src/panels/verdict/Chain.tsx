/** The path of a bad value from its origin to the symptom; a click on a recorded hop shows its tensor. */
import type { Finding } from "../../api/types";
import { focus, setFocus } from "../../state/focus";
import { hopWords } from "./words";

export function Chain({ finding }: { finding: Finding }) {
  if (finding.chain.length === 0) return null;
  return (
    <div class="finding-row">
      <span class="finding-label">Path</span>
      <ol class="chain" aria-label="From origin to symptom">
        {finding.chain.map((hop, n) => (
          <li key={n} class="hop">
            {n > 0 && <span class="hop-arrow faint" aria-hidden="true">→</span>}
            {hop.tensor === null ? (
              <span class="hop-text quiet">{hopWords(hop.text, finding)}</span>
            ) : (
              <button title={hop.text} class={`hop-button mono${hop.tensor === focus.value ? " hop-at" : ""}`} aria-current={hop.tensor === focus.value ? "true" : undefined} onClick={() => setFocus(hop.tensor)}>
                {hopWords(hop.text, finding)}
              </button>
            )}
          </li>
        ))}
      </ol>
    </div>
  );
}
