/** How many ops up or down are shown. */
import { DEEPEST, down, setDepth, up } from "./state";

export function Depth({ which, label }: { which: "up" | "down"; label: string }) {
  const deep = which === "up" ? up.value : down.value;
  return (
    <span class="graph-depth" role="group" aria-label={`Depth of ${label}`}>
      <span class="quiet">{label}</span>
      <button type="button" aria-label={`Fewer ${label}`} disabled={deep === 0} onClick={() => setDepth(which, deep - 1)}>−</button>
      <output class="mono">{deep}</output>
      <button type="button" aria-label={`More ${label}`} disabled={deep === DEEPEST} onClick={() => setDepth(which, deep + 1)}>+</button>
    </span>
  );
}
