/** The program's file as it was when it ran, with the health of the tensors of each line. */
import type { Margin, Run, Source as Answer, TensorDetail } from "../../api/types";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { run } from "../../state/run";
import { Empty } from "../../widgets/Empty";
import { Loading } from "../../widgets/Loading";
import { Shown } from "../../widgets/Shown";
import { useAnswer } from "../../widgets/useAnswer";
import { Forward } from "./Forward";
import { Lines } from "./Lines";
import { openSpot, spotFor } from "./where";
import "./source.css";
import "./code.css";

export function Source() {
  const now = run.value;
  const id = focus.value;
  const { value: detail, error } = useAnswer<TensorDetail>(id === null ? null : ofRun(`tensors/${id}`));
  const waits = id !== null && !detail && !error; // an exported page may lack the tensor; then its files are shown
  const spot = now && !waits ? spotFor(now, detail) : null;
  const answer = useAnswer<Answer>(spot === null ? null : ofRun(`sources/${spot.file}`), { at: id });
  if (!now || waits) return <Loading lines={6} />;
  if (spot === null) return <Empty title="No source was recorded">Files of the program are kept when a line of theirs calls TensorFlow.</Empty>;
  const forward = detail?.forward?.place ?? null;
  return (
    <div class="source">
      <div class="source-bar">
        <FilePicker run={now} file={spot.file} />
        <Here margin={answer.value?.lines[spot.line - 1]?.margin ?? null} line={spot.line} />
        {detail && !detail.place && !detail.forward?.place && <span class="faint">The tensor in focus comes from no line of the program.</span>}
      </div>
      {detail?.forward && <Forward forward={detail.forward} />}
      <Shown answer={answer} lines={8}>
        {(source) => <Lines source={source} line={spot.line} forward={forward?.file === spot.file ? forward.line : null} />}
      </Shown>
    </div>
  );
}

/** The tensors of the marked line, which the line itself often hides. */
function Here({ margin, line }: { margin: Margin | null; line: number }) {
  if (!margin) return null;
  return (
    <span class="source-here">
      <span class="faint">line {line}</span> <span class={margin.bad ? "is-bad" : "quiet"}>{margin.words}</span>
    </span>
  );
}

function FilePicker({ run, file }: { run: Run; file: number }) {
  const groups = [
    { label: "Program", files: run.files.filter((one) => one.user) },
    { label: "Libraries", files: run.files.filter((one) => !one.user) },
  ];
  return (
    <select class="mono source-file" aria-label="File" value={file} onChange={(event) => openSpot(Number(event.currentTarget.value), 1)} title={run.files.find((one) => one.number === file)?.path}>
      {groups.map(
        (group) =>
          group.files.length > 0 && (
            <optgroup key={group.label} label={group.label}>
              {group.files.map((one) => (
                <option key={one.number} value={one.number}>
                  {one.name}
                </option>
              ))}
            </optgroup>
          ),
      )}
    </select>
  );
}
