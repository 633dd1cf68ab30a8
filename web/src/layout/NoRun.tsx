/** Shown if there is no run yet: how to get one. */
import type { RequestFailed } from "../api/client";
import { runs } from "../state/run";
import { chooseRun } from "./RunPicker";

export function NoRun() {
  return (
    <div class="teach">
      <h2 class="teach-title">No run here yet</h2>
      <p class="quiet">Record a program of yours. This page opens the run by itself as soon as it begins.</p>
      <Way words="Any program that uses TensorFlow, without changing it:" code="sleuth run train.py" />
      <Way words="Or a part of one, from Python:" code={'import tensorsleuth\n\nwith tensorsleuth.record("sleuth_runs"):\n    train()'} />
      <Way words="Or look at an example with a bug in it:" code="sleuth demo" />
      <p class="faint">Runs are looked for in the folder that sleuth view was started for; another one: sleuth view --logdir FOLDER</p>
    </div>
  );
}

function Way({ words, code }: { words: string; code: string }) {
  return (
    <div class="way">
      <p>{words}</p>
      <pre class="command mono">{code}</pre>
    </div>
  );
}

/** The run that the address names cannot be shown. */
export function NotRead({ failure }: { failure: RequestFailed }) {
  const others = (runs.value ?? []).slice(0, 8);
  return (
    <div class="teach">
      <h2 class="teach-title">{failure.status === 0 ? "sleuth view does not answer" : "This run cannot be shown"}</h2>
      <p class="is-bad">{failure.what}</p>
      {failure.next !== null && <p class="quiet">{failure.next}</p>}
      {failure.status !== 0 && others.length > 0 && (
        <>
          <p>Runs that are here:</p>
          <ul>
            {others.map((one) => (
              <li key={one.name}>
                <button class="link mono" onClick={() => chooseRun(one.name)}>{one.name}</button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
