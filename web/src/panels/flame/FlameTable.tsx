/** The step as a table: ops by type and line, the most time first. */
import type { Flame } from "../../api/types";
import { setFocus } from "../../state/focus";
import { count, seconds } from "../../widgets/format";
import { percent, type Sum, sums } from "./words";

const MOST = 200;

export function FlameTable({ flame }: { flame: Flame }) {
  const rows = sums(flame.bars);
  const whole = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
  return (
    <div class="timeline-table">
      <table class="grid-table">
        <caption class="unseen">{`Ops of step ${count(flame.step ?? 0)} by the time that they took`}</caption>
        <thead>
          <tr><th scope="col">op</th><th scope="col">line</th><th scope="col" class="number">time</th><th scope="col" class="number">share</th><th scope="col" class="number">runs</th></tr>
        </thead>
        <tbody>{rows.slice(0, MOST).map((row) => <Row key={`${row.name} ${row.place}`} row={row} share={row.seconds / whole} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ row, share }: { row: Sum; share: number }) {
  const { tensor } = row;
  return (
    <tr>
      <td class="mono">{tensor ? <button type="button" class="link" onClick={() => setFocus(tensor)}>{row.name}</button> : row.name}</td>
      <td class="mono">{row.place ?? "–"}</td>
      <td class="number">{seconds(row.seconds)}</td>
      <td class="number">{percent(share)}</td>
      <td class="number">{count(row.runs)}</td>
    </tr>
  );
}
