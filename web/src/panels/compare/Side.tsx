/** One run's tensor at the point of divergence. */
import type { TensorRow } from "../../api/types";
import { showPanel } from "../../state/panels";
import { shape, value, when } from "../../widgets/format";
import { HealthBar, inWords } from "../../widgets/HealthBar";

export function Side({ run, row, focusable = false }: { run: string; row: TensorRow; focusable?: boolean }) {
  const { health } = row;
  return (
    <article class="compare-side">
      <h4 class="faint mono">{run}</h4>
      <p class="mono compare-tensor">{focusable ? <button type="button" class="link" onClick={() => showPanel("tensor", { tensor: row.id })}>{row.name}</button> : row.name}</p>
      <p class="quiet"><span class="mono">{row.type} · {row.dtype} {shape(row.shape)}</span>{when(row) && ` · ${when(row)}`}</p>
      <HealthBar health={health} />
      <p class={health.bad ? "is-bad" : "quiet"}>{inWords(health)}</p>
      <dl class="compare-range">
        {([["min", health.min], ["mean", health.mean], ["max", health.max]] as const).filter(([, number]) => number !== null).map(([name, number]) => (
          <div key={name}><dt>{name}</dt><dd class="mono">{value(number)}</dd></div>
        ))}
      </dl>
      {row.place && <p class="mono quiet cut" title={row.place.path}>{row.place.path.split("/").at(-1)}:{row.place.line} {row.place.code ?? ""}</p>}
    </article>
  );
}
