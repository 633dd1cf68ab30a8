/** The timeline as a table: each lane, how much ran on it, and its first bad tensor. */
import type { Timeline } from "../../api/types";
import { setFocus } from "../../state/focus";
import { count } from "../../widgets/format";
import { duration } from "./view";

type Lane = Timeline["lanes"][number];

export function LaneTable({ timeline }: { timeline: Timeline }) {
  return (
    <div class="timeline-table">
      <table class="grid-table">
        <caption class="unseen">Lanes of the timeline</caption>
        <thead>
          <tr><th scope="col">lane</th><th scope="col">kind</th><th scope="col" class="number">tensors</th><th scope="col" class="number">bad</th><th scope="col">first bad</th></tr>
        </thead>
        <tbody>{timeline.lanes.map((lane) => <LaneRow key={lane.id} lane={lane} timeline={timeline} />)}</tbody>
      </table>
    </div>
  );
}

function LaneRow({ lane, timeline }: { lane: Lane; timeline: Timeline }) {
  const sum = (of: number[]): number => of.reduce((total, one) => total + one, 0);
  const first = lane.bad.findIndex((bad) => bad > 0);
  const tensor = first < 0 ? null : lane.first[first];
  const at = timeline.from + (first / lane.bad.length) * (timeline.to - timeline.from);
  return (
    <tr>
      <td class="mono">{lane.name}</td>
      <td>{lane.kind}</td>
      <td class="number">{count(sum(lane.count))}</td>
      <td class={first < 0 ? "number" : "number is-bad"}>{count(sum(lane.bad))}</td>
      <td>{tensor ? <button type="button" class="link" onClick={() => setFocus(tensor)}>{duration(at)}</button> : "–"}</td>
    </tr>
  );
}
