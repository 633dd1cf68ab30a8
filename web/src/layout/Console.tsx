/** The debugger's command line: commands and the program's answers. */
import { useEffect, useRef, useState } from "preact/hooks";
import { RequestFailed } from "../api/client";
import { busy, consoleOpen, exchanges, send, type Exchange } from "../state/pause";

const HINT = "pt [0, :]   eval np.abs(x).max()   li   lo   ni   ps   help";

export function Console() {
  const log = useRef<HTMLDivElement>(null);
  const all = exchanges.value;
  useEffect(() => {
    if (log.current) log.current.scrollTop = log.current.scrollHeight;
  }, [all]);
  return (
    <div class="console">
      <div class="console-log" ref={log} role="log" aria-label="Answers" tabIndex={0}>
        {all.length === 0 && <p class="quiet">Commands are those of sleuth debug. The tensor at hand is x.</p>}
        {all.map((one, at) => (
          <Told key={at} one={one} />
        ))}
      </div>
      <Line />
    </div>
  );
}

function Told({ one }: { one: Exchange }) {
  return (
    <div class="console-one">
      <p class="console-asked mono">{one.command}</p>
      {one.answer === null ? <p class="quiet">…</p> : <Answered answer={one.answer} />}
    </div>
  );
}

function Answered({ answer }: { answer: NonNullable<Exchange["answer"]> }) {
  if (answer instanceof RequestFailed) return <p class="is-bad">{[answer.what, answer.next].filter(Boolean).join(" ")}</p>;
  if (answer.failed !== null) return <p class="is-bad">{answer.failed}</p>;
  if (answer.parts.length === 0) return null;
  return (
    <pre class="console-answer">
      {answer.parts.map((part, at) => (
        <span key={at} class={part.style.split(" ").map((word) => word && `said-${word}`).join(" ")}>
          {part.text}
        </span>
      ))}
    </pre>
  );
}

function Line() {
  const [text, setText] = useState("");
  const [back, setBack] = useState(0); // position in the command history
  const recall = (by: number): void => {
    const typed = exchanges.peek().map((one) => one.command);
    const next = Math.min(Math.max(back + by, 0), typed.length);
    setBack(next);
    setText(next === 0 ? "" : (typed[typed.length - next] ?? ""));
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "ArrowUp") recall(1);
    else if (event.key === "ArrowDown") recall(-1);
    else if (event.key === "Escape") consoleOpen.value = false;
    else return;
    event.preventDefault();
  };
  const run = (event: Event): void => {
    event.preventDefault();
    if (!text.trim() || busy.peek()) return;
    void send(text.trim());
    setText("");
    setBack(0);
  };
  return (
    <form class="console-line" onSubmit={run}>
      <span class="mono quiet" aria-hidden="true">
        ❯
      </span>
      <input id="command" class="mono" aria-label="Command" autocomplete="off" spellcheck={false} placeholder={HINT} value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={press} />
    </form>
  );
}
