/** A table of runs, newest first. */
import type { RunSummary } from "../../api/types";
import { badness, looked } from "../../widgets/badness";
import { ago, count, seconds } from "../../widgets/format";

interface Props {
  all: RunSummary[];
  now: string | null; // the run on the page
  caption: string;
  choose?: (name: string) => void;
  compare?: (name: string) => void;
}

export function RunTable({ all, now, caption, choose, compare }: Props) {
  return (
    <table class="run-table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">program</th><th scope="col">started</th><th scope="col">took</th><th scope="col">ended</th>
          <th scope="col" class="number">steps</th><th scope="col" class="number">tensors</th><th scope="col" class="number">bad</th><th scope="col">run</th>
          {compare && <th scope="col"><span class="unseen">compare</span></th>}
        </tr>
      </thead>
      <tbody>{all.map((one) => <Line key={one.name} one={one} now={now} choose={choose} compare={compare} />)}</tbody>
    </table>
  );
}

type LineProps = { one: RunSummary; now: string | null; choose: Props["choose"]; compare: Props["compare"] };

function Line({ one, now, choose, compare }: LineProps) {
  const here = one.name === now;
  const pick = choose ?? compare;
  return (
    <tr class={here ? "is-here" : ""} aria-current={here ? "true" : undefined}>
      <td class="mono run-program" title={one.command}>{pick && !(here && !choose) ? <button type="button" class="link" onClick={() => pick(one.name)}>{one.program}</button> : one.program}</td>
      <td title={one.started === null ? "" : new Date(one.started * 1000).toLocaleString()}>{one.started === null ? "–" : ago(one.started)}</td>
      <td>{one.seconds === null ? "–" : seconds(one.seconds)}</td>
      <td class={one.status === "failed" || one.status === "killed" ? "is-bad" : "quiet"}>{one.status === "running" ? "running" : one.ending || one.status}</td>
      <td class="number">{count(one.steps)}</td>
      <td class="number">{count(one.tensors)}</td>
      <td class={one.bad ? "number is-bad" : "number"} title={badness(one)}>{one.bad || looked(one) ? count(one.bad) : "–"}</td>
      <td class="mono faint">{one.name}</td>
      {compare && <td>{here ? <span class="faint">this run</span> : <button type="button" onClick={() => compare(one.name)}>Compare</button>}</td>}
    </tr>
  );
}
