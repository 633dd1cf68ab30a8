/** Says that the connection is broken; the page continues by itself when it is back. */
import { exported } from "../api/client";
import { reachable } from "../api/reach";
import { connection } from "../state/live";
import { run } from "../state/run";

export function Banner() {
  if (run.value && (!reachable.value || (connection.value === "lost" && run.value.live))) {
    return (
      <div class="banner" role="alert">
        <span class="is-bad">sleuth view does not answer.</span> <span class="quiet">What is here is from before. Start it again in its terminal; this page goes on by itself.</span>
      </div>
    );
  }
  if (exported()) return <div class="banner quiet">An exported page: a part of the run, as it was then.</div>;
  return null;
}
