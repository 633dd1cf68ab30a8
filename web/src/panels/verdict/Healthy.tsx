/** No finding: what was checked, or why nothing could be found. */
import type { Run, Verdict } from "../../api/types";
import { many } from "../../widgets/format";

export function Healthy({ run, said }: { run: Run; said: Verdict }) {
  const { mark, words } = inWords(run, said);
  return (
    <>
      <header class="verdict-head">
        <span class={`mark ${mark === "Healthy" ? "mark-ok" : mark === "Unclear" ? "mark-unclear" : "mark-plain"}`}>{mark}</span>
        <h2 class="verdict-summary">{words}</h2>
      </header>
      {mark === "Unclear" && <Doubts said={said} />}
    </>
  );
}

function Doubts({ said }: { said: Verdict }) {
  const command = said.unclear.find((doubt) => doubt.command !== null)?.command;
  return (
    <>
      {said.unclear.slice(1).map((doubt) => <p key={doubt.what} class="quiet">Also: {doubt.what}</p>)}
      {command && <p>To be sure: <code>{command}</code></p>}
    </>
  );
}

const upper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

export function inWords(run: Run, said: Verdict): { mark: string; words: string } {
  const seen = `${run.steps ? `${many(run.steps, "step")}, ` : ""}${many(run.tensors, "tensor")}`;
  if (run.tensors === 0 && run.live) return { mark: "Starting", words: "The program runs; TensorFlow has computed nothing yet. This page follows it." };
  if (run.tensors === 0) return { mark: "Unknown", words: said.unjudged ?? "TensorFlow computed nothing in this run that was recorded." };
  if (run.status === "failed" || run.status === "killed") return { mark: `Ended: ${run.ending}`, words: `No other problem found in ${seen} until then.` };
  if (said.unclear.length > 0) return { mark: "Unclear", words: `${upper(said.unclear_words)}.` };
  if (run.mode === "FLIGHT") return { mark: "Healthy", words: `No call returned or wrote a NaN or an infinity in ${seen}${run.live ? " so far" : ""}.` };
  if (run.live) return { mark: "Healthy", words: `No problem found in ${seen} so far.` };
  return { mark: "Healthy", words: `No problem found in ${seen}.` };
}
