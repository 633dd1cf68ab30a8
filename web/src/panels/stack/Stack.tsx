/** The calls that led to the tensor in focus. */
import { useState } from "preact/hooks";
import type { Frame, TensorDetail } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { showPanel } from "../../state/panels";
import { Empty } from "../../widgets/Empty";
import { many } from "../../widgets/format";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { folded, type Fold } from "./folds";
import "./stack.css";

export function Stack() {
  const id = focus.value;
  const answer = useAnswer<TensorDetail>(id === null ? null : ofRun(`tensors/${id}`));
  if (id === null) return <Empty title="No tensor in focus">Choose one in the list: the calls that led to it are shown here.</Empty>;
  return <Shown answer={answer}>{(detail) => <Frames key={detail.id} detail={detail} />}</Shown>;
}

function Frames({ detail }: { detail: TensorDetail }) {
  if (detail.stack.length === 0) return <Empty title="No stack was recorded">TensorFlow made this op by itself: no line of the program called it.</Empty>;
  const folds = folded(detail.stack);
  return (
    <ol class="stack" aria-label="Calls, the latest first">
      {folds.map((fold, n) => (fold.library ? <Folded key={n} fold={fold} /> : fold.frames.map((frame, m) => <One key={`${n}.${m}`} frame={frame} />)))}
    </ol>
  );
}

function Folded({ fold }: { fold: Fold }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <li>
        <button class="plain stack-fold faint" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "▾" : "▸"} {many(fold.frames.length, "library frame")}
        </button>
      </li>
      {open && fold.frames.map((frame, n) => <One key={n} frame={frame} />)}
    </>
  );
}

function One({ frame }: { frame: Frame }) {
  const { place } = frame;
  const words = (
    <>
      <span class="mono stack-where cut">
        {frame.path.split("/").pop()}:{frame.line}
      </span>
      <span class="mono quiet cut">{frame.function}</span>
      {place?.code && <code class="stack-code cut">{place.code.trim()}</code>}
    </>
  );
  const classes = `stack-frame${frame.user ? "" : " stack-library"}`;
  return (
    <li title={`${frame.path}:${frame.line}`}>
      {place ? <button class={`plain ${classes}`} onClick={() => showPanel("source", { src: `${place.file}:${place.line}` })}>{words}</button> : <div class={classes}>{words}</div>}
    </li>
  );
}
