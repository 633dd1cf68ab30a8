/** Shown if the program is paused: where, why, and how to continue. An exported page never has one. */
import { useState } from "preact/hooks";
import type { Pause } from "../api/types";
import { focus, setFocus } from "../state/focus";
import { busy, consoleOpen, died, pause, paused, send } from "../state/pause";
import { run } from "../state/run";
import { Console } from "./Console";

export function PauseBar() {
  if (died.value && pause.value) return <Died at={pause.value} />;
  if (!paused.value || !pause.value) return null;
  return (
    <section class="pause" aria-label="Paused program">
      <div class="pause-bar">
        <Where at={pause.value} />
        <Ways />
      </div>
      {consoleOpen.value && <Console />}
    </section>
  );
}

function Died({ at }: { at: Pause }) {
  return (
    <section class="pause" aria-label="Paused program">
      <div class="pause-bar">
        <p class="pause-where" role="alert">
          <span class="is-bad">The program died while it was paused</span> at <code>{at.why}</code> on <Named at={at} />
          {run.value?.ending && <span class="quiet"> · {run.value.ending}</span>}
        </p>
        <button onClick={() => (pause.value = null)}>Close</button>
      </div>
    </section>
  );
}

function Where({ at }: { at: Pause }) {
  const seen = at.seen.map((one) => `${one.name} ${one.value}`).join(", ");
  return (
    <p class="pause-where" title={[at.file && `${at.file}:${at.line}`, seen].filter(Boolean).join("\n")}>
      <span class="pause-mark" aria-hidden="true" /> <strong>Paused</strong> at <code>{at.why}</code> on <Named at={at} />
    </p>
  );
}

function Named({ at }: { at: Pause }) {
  const file = run.value?.files.find((one) => one.path === at.file)?.name ?? at.file?.split("/").at(-1);
  const line = file && `${file}:${at.line}`;
  const kind = at.dtype && `${at.dtype} [${at.shape?.join(", ") ?? ""}]`;
  const step = at.step !== null && at.step >= 0 && `step ${at.step}`;
  return (
    <>
      <span class="mono">{at.name}</span>
      <span class="quiet"> {[at.op && `(${at.op})`, kind].filter(Boolean).join(" ")}</span>
      {[line, step].filter(Boolean).map((part) => (
        <span key={String(part)}>, {part}</span>
      ))}
    </>
  );
}

function Ways() {
  const tensor = pause.value?.tensor ?? null;
  return (
    <div class="pause-ways" role="toolbar" aria-label="Go on">
      {tensor !== null && tensor !== focus.value && <button onClick={() => setFocus(tensor)}>Show tensor</button>}
      <Way command="continue" label="Continue" title="Let the program run on to its next pause (C)" />
      <Way command="step" label="Step" title="On to the next training step (S)" />
      <Until />
      <button aria-expanded={consoleOpen.value} onClick={() => (consoleOpen.value = !consoleOpen.value)} title="Look at values, give commands (:)">
        Console
      </button>
      <Stop />
    </div>
  );
}

function Way({ command, label, title }: { command: string; label: string; title: string }) {
  return (
    <button disabled={busy.value} onClick={() => void send(command)} title={title}>
      {label}
    </button>
  );
}

function Until() {
  const [text, setText] = useState("");
  const go = (event: Event): void => {
    event.preventDefault();
    if (text.trim()) void send(`until ${text.trim()}`);
  };
  return (
    <form class="pause-until" onSubmit={go}>
      <input id="until" class="mono" aria-label="Condition" placeholder="max > 1e4" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" disabled={busy.value || !text.trim()} title="On until this holds of a tensor (U)">
        Until
      </button>
    </form>
  );
}

/** Asks for a confirmation, so that nobody does it by mistake. */
function Stop() {
  const [sure, setSure] = useState(false);
  if (!sure)
    return (
      <button onClick={() => setSure(true)} title="End the program: BreakError is raised in it">
        Stop…
      </button>
    );
  return (
    <>
      <button class="pause-stop" disabled={busy.value} onClick={() => void send("stop")}>
        Stop the program
      </button>
      <button onClick={() => setSure(false)}>Keep it</button>
    </>
  );
}
