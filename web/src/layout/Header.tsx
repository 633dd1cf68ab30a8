/** The top of the page: which run, how it is going, search, theme, help. */
import type { Run } from "../api/types";
import { helpOpen } from "../state/keys";
import { connection } from "../state/live";
import { paused } from "../state/pause";
import { beyond, showPanel, whole } from "../state/panels";
import { run } from "../state/run";
import { theme, toggleTheme } from "../state/theme";
import { many } from "../widgets/format";
import { RunPicker } from "./RunPicker";
import { Search } from "./Search";

export function Header() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top">
      <h1 class="brand">tensorsleuth</h1>
      <RunPicker />
      {run.value && <Facts run={run.value} />}
      <span class="top-space" />
      {run.value && <Ways />}
      <button onClick={toggleTheme} title={`Change to ${other} (d)`} aria-label={`Change to ${other}`}>
        {other === "light" ? "Light" : "Dark"}
      </button>
      <button onClick={() => (helpOpen.value = true)} title="Keyboard (?)" aria-label="Keyboard help">
        ?
      </button>
    </header>
  );
}

/** Links to panels that are not about one tensor, and to anything by name. */
function Ways() {
  return (
    <>
      {beyond().map((panel) => (
        <button key={panel.id} aria-current={whole.value?.id === panel.id ? "page" : undefined} onClick={() => showPanel(panel.id)}>
          {panel.title}
        </button>
      ))}
      <Search />
    </>
  );
}

function Facts({ run }: { run: Run }) {
  return (
    <ul class="facts" aria-label="This run">
      <li class="fact-live">{run.live ? <Live /> : <span class={run.status === "failed" || run.status === "killed" ? "is-bad" : "quiet"}>{run.ending || run.status}</span>}</li>
      {run.steps > 0 && <li>{many(run.steps, "step")}</li>}
      <li>{many(run.tensors, "tensor")}</li>
      <li title={run.modeWhat} class="fact-mode">
        <span class="mono">{run.mode}</span>
      </li>
    </ul>
  );
}

function Live() {
  const lost = connection.value === "lost";
  return (
    <span class="live" title={lost ? "sleuth view does not answer; asked again" : `The program is ${paused.value ? "paused" : "running"}; this page follows it`}>
      <span class={`dot ${lost ? "dot-lost" : "dot-live"}`} />
      {lost ? "Connection lost" : paused.value ? "Paused" : "Live"}
    </span>
  );
}
