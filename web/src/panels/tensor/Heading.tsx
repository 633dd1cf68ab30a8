/** The tensor, when it was computed, and its health. */
import type { Health, TensorDetail } from "../../api/types";
import { count, shape, value, when } from "../../widgets/format";
import { HealthBar, KINDS } from "../../widgets/HealthBar";

export function Heading({ tensor }: { tensor: TensorDetail }) {
  return (
    <header class="tensor-head">
      <h3 class="tensor-name mono">{tensor.name}</h3>
      <p class="tensor-facts">
        <span class="mono">{tensor.type}</span>
        {tensor.gradient && <span class="tag" title={tensor.forward ? `the gradient of ${tensor.forward.name}` : "a gradient"}>gradient{tensor.forward ? ` of ${tensor.forward.op}` : ""}</span>}
        {tensor.variable && <span class="tag" title="the value of this variable">{tensor.variable}</span>}
        <span class="mono">{tensor.dtype} {shape(tensor.shape)}</span>
      </p>
      <Facts tensor={tensor} />
      <HealthBar health={tensor.health} />
      <Counts health={tensor.health} elements={tensor.elements} />
      <p class={tensor.health.bad ? "is-bad" : "quiet"}>{tensor.words}</p>
    </header>
  );
}

function Facts({ tensor }: { tensor: TensorDetail }) {
  const facts: [string, string | null][] = [["when", when(tensor) || "outside of any step"], ["layer", tensor.layer], ["in", tensor.graph ?? "eager"]];
  return (
    <dl class="tensor-list">
      {facts.map(([name, text]) => text && (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={name === "when" ? "" : "mono"}>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The bar's legend, with counts; then the range. */
function Counts({ health, elements }: { health: Health; elements: number }) {
  const there = KINDS.filter(({ key }) => health[key] > 0);
  const range = ([["min", health.min], ["mean", health.mean], ["max", health.max], ["std", health.std]] as const).filter(([, number]) => number !== null);
  return (
    <ul class="tensor-counts">
      {there.map(({ key, sign, words }) => (
        <li key={key} title={`${count(health[key])} of ${count(elements)} are ${words}`}>
          <span class={`swatch health-${key}`} aria-hidden="true" />
          {sign} <b>{count(health[key])}</b>
        </li>
      ))}
      {range.map(([name, number]) => <li key={name} class="quiet">{name} <b>{value(number)}</b></li>)}
    </ul>
  );
}
