/** The same tensor over the run. */
import { useSignal } from "@preact/signals";
import type { History, TensorDetail } from "../../api/types";
import { slideFocus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { count } from "../../widgets/format";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { useLast } from "../../widgets/useLast";
import { HistoryChart } from "./HistoryChart";
import { pointOf, pointWords, series } from "./series";

export function HistorySection({ tensor }: { tensor: TensorDetail }) {
  const answer = useAnswer<History>(ofRun(`tensors/${tensor.id}/history`), { points: 400 });
  const shown = { ...answer, value: useLast(answer.value) }; // the previous chart stays until the next one arrives
  return (
    <section class="tensor-part tensor-history" aria-label="Over the run">
      <Shown answer={shown} lines={4}>{(history) => <Shape history={history} tensor={tensor} />}</Shown>
    </section>
  );
}

function Shape({ history, tensor }: { history: History; tensor: TensorDetail }) {
  const hover = useSignal<number | null>(null);
  const at = pointOf(history, tensor.id, tensor.step);
  if (history.total < 2) return <><h4>Over the run</h4><p class="quiet">Computed once in this run.</p></>;
  const shown = hover.value ?? at;
  const bad = series(history).bad.length;
  const walk = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = by && history.ids[at + by];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    slideFocus(next);
  };
  return (
    <>
      <h4>
        Over the run <span class="faint">{count(history.total)} times</span>
      </h4>
      <p class={`history-now ${shown >= 0 && series(history).bad.includes(shown) ? "is-bad" : "quiet"}`}>{shown >= 0 ? pointWords(history, shown) : " "}</p>
      <div class="history" tabIndex={0} role="group" onKeyDown={walk} aria-label="Chart over the run. Left and right go to the moment before and after.">
        <HistoryChart history={history} at={at} hover={hover} summary={words(history, bad)} />
      </div>
      <p class="history-legend faint">
        <span class="swatch swatch-band" aria-hidden="true" /> min to max
        {history.mean.some((mean) => mean !== null) && <><span class="swatch swatch-mean" aria-hidden="true" /> mean</>}
        {bad > 0 && <><span class="swatch swatch-bad" aria-hidden="true" /> share that is NaN or ∞</>}
      </p>
    </>
  );
}

function words(history: History, bad: number): string {
  const last = history.ids.length - 1;
  return `${count(history.total)} moments; ${bad ? `${count(bad)} points with NaN or infinity` : "none with NaN or infinity"}. First: ${pointWords(history, 0)}. Last: ${pointWords(history, last)}.`;
}
