/** The watched series over the steps, and the logged messages. */
import { useSignal } from "@preact/signals";
import type { Watched, WatchedItem, WatchedSeries } from "../../api/types";
import { ofRun } from "../../state/name";
import { Empty } from "../../widgets/Empty";
import { count } from "../../widgets/format";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { Chart } from "./Chart";
import { LogLines } from "./LogLines";
import { Ridges } from "./Ridges";
import { charts } from "./series";
import "./watched.css";

const LOGS = "logs";

export function WatchedPanel() {
  const answer = useAnswer<Watched>(ofRun("watched"));
  return <Shown answer={answer}>{(watched) => <Choice watched={watched} />}</Shown>;
}

function Choice({ watched }: { watched: Watched }) {
  const chosen = useSignal<string | null>(null);
  if (watched.items.length === 0 && watched.logs === 0) return <Nothing />;
  const first = watched.items[0]?.id ?? LOGS;
  const known = chosen.value === LOGS || watched.items.some((item) => item.id === chosen.value);
  const id = known ? chosen.value! : first;
  const item = watched.items.find((one) => one.id === id);
  return (
    <div class="watched">
      <select class="watched-choice" aria-label="What is watched" value={id} onChange={(event) => (chosen.value = event.currentTarget.value)}>
        {watched.items.map((one) => <option key={one.id} value={one.id}>{title(one)}</option>)}
        {watched.logs > 0 && <option value={LOGS}>{`log: ${count(watched.logs)} messages`}</option>}
      </select>
      {item ? <Series key={id} item={item} /> : <LogLines total={watched.logs} />}
    </div>
  );
}

function Nothing() {
  return (
    <Empty title="Nothing was watched" command="sleuth run --watch 'gradient:.*' --watch-every 10 train.py">
      tensorsleuth.watch logs some tensors over the steps; tensorsleuth.log prints from inside graphs.
    </Empty>
  );
}

const title = (item: WatchedItem): string => `${item.kind}: ${item.name} · ${count(item.looks)} ${item.looks === 1 ? "look" : "looks"}`;

function Series({ item }: { item: WatchedItem }) {
  const answer = useAnswer<WatchedSeries>(ofRun(`watched/${item.id}`), { points: 400 });
  return <Shown answer={answer} lines={6}>{(series) => <Parts item={item} series={series} />}</Shown>;
}

function Parts({ item, series }: { item: WatchedItem; series: WatchedSeries }) {
  return (
    <>
      {charts(item, series).map((chart) => <Chart key={chart.title} title={chart.title} step={series.step} columns={chart.columns} />)}
      {series.ridges.length > 0 && <Ridges ridges={series.ridges} />}
      {series.images.map((image, at) => <img key={at} class="watched-image" src={image} alt={`Image ${at + 1} of the latest look at ${item.name}`} />)}
      {series.texts.length > 0 && <ol class="watched-texts">{series.texts.map((text, at) => <li key={at}>{text}</li>)}</ol>}
    </>
  );
}
