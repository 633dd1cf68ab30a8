/** What the heads of the model attend to, by layer, head, step and sample, and how that changed over the steps. */
import type { RequestFailed } from "../../api/client";
import type { AttentionItem, AttentionList, HeadLines, Remark, Thumbs as ThumbsAnswer, Weights } from "../../api/inside";
import { goTo } from "../../state/inside";
import { ofRun } from "../../state/name";
import { Empty } from "../../widgets/Empty";
import { count } from "../../widgets/format";
import { Loading } from "../../widgets/Loading";
import { ErrorBox } from "../../widgets/ErrorBox";
import { Shown } from "../../widgets/Shown";
import { sharedScopes } from "../../widgets/names";
import { useAnswer } from "../../widgets/useAnswer";
import { useLast } from "../../widgets/useLast";
import { VerdictHint } from "../../widgets/VerdictHint";
import { Chart } from "../watched/Chart";
import { choice, choose, type Choice } from "./state";
import { Thumbs } from "./Thumbs";
import { WeightMap } from "./WeightMap";
import { CHARTS, title } from "./words";
import "./attention.css";

export function AttentionPanel() {
  const answer = useAnswer<AttentionList>(ofRun("attention"));
  return <Shown answer={answer} lines={6}>{(list) => (list.items.length ? <Chosen list={list} /> : <Empty title="No attention was seen">{list.why}</Empty>)}</Shown>;
}

function Chosen({ list }: { list: AttentionList }) {
  const now = choice(list.items);
  return (
    <div class="attention">
      <Tools list={list} now={now} />
      <VerdictHint />
      <Remarks list={list} now={now} />
      <div class="attention-parts">
        <Pictures items={list.items} now={now} />
        <Lines now={now} />
      </div>
    </div>
  );
}

function Tools({ list, now }: { list: AttentionList; now: Choice }) {
  const { item, step, sample } = now;
  const at = item.steps.indexOf(step);
  const scopes = sharedScopes(list.items.map((one) => one.name));
  const to = (look: number): void => choose({ step: item.steps[look] ?? null });
  return (
    <div class="attention-tools">
      <select class="attention-layer" aria-label="Layer" title={item.name} value={item.id} onChange={(event) => choose({ item: event.currentTarget.value })}>
        {list.items.map((one) => <option key={one.id} value={one.id}>{title(one, scopes)}</option>)}
      </select>
      <Where item={item} step={step} />
      <span class="attention-steps">
        <button type="button" aria-label="The look before" title="The look before" disabled={at <= 0} onClick={() => to(at - 1)}>‹</button>
        <select aria-label="Step" value={step} onChange={(event) => choose({ step: Number(event.currentTarget.value) })}>
          {item.steps.map((one) => <option key={one} value={one}>{`step ${count(one)}`}</option>)}
        </select>
        <button type="button" aria-label="The next look" title="The next look" disabled={at >= item.steps.length - 1} onClick={() => to(at + 1)}>›</button>
      </span>
      {item.samples > 1 && (
        <select aria-label="Sample" value={sample} onChange={(event) => choose({ sample: Number(event.currentTarget.value) })}>
          {Array.from({ length: item.samples }, (_, one) => <option key={one} value={one}>{`sample ${one}`}</option>)}
        </select>
      )}
      {item.by === "replay" && <span class="tag" title="XLA compiled it: the call was run again, uncompiled, to see the weights">run again</span>}
      {list.leftOut > 0 && <span class="faint">{count(list.leftOut)} more are left out</span>}
    </div>
  );
}

/** Goes to the line that computes it, and its tensor at this step. */
function Where({ item, step }: { item: AttentionItem; step: number }) {
  const name = item.place ? `${item.place.path.split("/").at(-1)}:${item.place.line}` : "its tensor";
  return <button type="button" class="link mono" title={item.place?.code ?? "Show its tensor"} onClick={() => void goTo(item.id, step, item.place)}>{name}</button>;
}

function Remarks({ list, now }: { list: AttentionList; now: Choice }) {
  if (list.remarks.length === 0) return null;
  const jump = ({ layer, heads }: Remark): void => {
    const item = list.items.find((one) => one.name === layer);
    if (item) choose({ item: item.id, head: heads[0] ?? 0 });
  };
  return (
    <ul class="attention-remarks" aria-label="What is remarkable">
      {list.remarks.map((one, at) => (
        <li key={at} class={one.severity === "error" ? "is-bad" : ""} aria-current={one.layer === now.item.name && one.heads.includes(now.head) ? "true" : undefined}>
          <button type="button" class="link" onClick={() => jump(one)}>{`${one.layer}, ${one.who}`}</button>: {one.words}
        </li>
      ))}
    </ul>
  );
}

function Pictures({ items, now }: { items: AttentionItem[]; now: Choice }) {
  const { item, head, step, sample } = now;
  const thumbs = useAnswer<ThumbsAnswer>(ofRun(`attention/${item.id}/thumbs`), { step, sample }, false);
  const weights = useAnswer<Weights>(ofRun(`attention/${item.id}/weights`), { step, sample, head }, false);
  const [small, large] = [useLast(thumbs.value), useLast(weights.value)];
  return (
    <div class="attention-pictures">
      {small && <Thumbs thumbs={small} choice={now} items={items} />}
      {item.shown < item.heads && <p class="faint attention-note">{`The weights of ${item.shown} of ${item.heads} heads were kept.`}</p>}
      <Large error={weights.error ?? thumbs.error} weights={large} />
    </div>
  );
}

function Large({ error, weights }: { error: RequestFailed | null; weights: Weights | null }) {
  if (error) return <ErrorBox error={error} />;
  return weights ? <WeightMap weights={weights} /> : <Loading lines={8} />;
}

function Lines({ now }: { now: Choice }) {
  const answer = useAnswer<HeadLines>(ofRun(`attention/${now.item.id}/heads`));
  const lines = useLast(answer.value);
  if (answer.error) return <ErrorBox error={answer.error} />;
  return <div class="attention-lines">{lines && CHARTS.map((chart) => <HeadChart key={chart.name} lines={lines} chart={chart} head={now.head} />)}</div>;
}

function HeadChart({ lines, chart, head }: { lines: HeadLines; chart: (typeof CHARTS)[number]; head: number }) {
  const heads = lines.columns[chart.name];
  if (!heads.some((line) => line.some((one) => one !== null))) return null;
  const columns = Object.fromEntries(heads.map((line, at) => [`head ${at}`, line]));
  return <div title={chart.what}><Chart title={chart.title} step={lines.steps} columns={columns} strong={`head ${head}`} /></div>;
}
