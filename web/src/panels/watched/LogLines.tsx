/** The latest hundred messages that the program logged. */
import type { Logs } from "../../api/types";
import { ofRun } from "../../state/name";
import { count } from "../../widgets/format";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";

const SHOWN = 100;

export function LogLines({ total }: { total: number }) {
  const answer = useAnswer<Logs>(ofRun("logs"), { begin: Math.max(total - SHOWN, 0), end: total });
  return (
    <Shown answer={answer}>
      {(logs) => (
        <>
          {logs.begin > 0 && <p class="quiet">The last {count(logs.items.length)} of {count(logs.total)}.</p>}
          <table class="watched-logs">
            <tbody>
              {logs.items.map((one, at) => (
                <tr key={at}>
                  <td class="faint">step {count(one.step)}</td>
                  <td>{one.message}</td>
                  <td class="faint" title={one.file ?? undefined}>{one.file === null ? "" : `${one.file.split("/").at(-1)}:${one.line}`}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Shown>
  );
}
