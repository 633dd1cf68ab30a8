/** What a program was doing when it ended: threads, Python's lines, memory, its last output. */
import type { ComponentChildren } from "preact";
import type { Doing, Ending, Held } from "../../api/ending";
import type { Place } from "../../api/types";
import { showPanel } from "../../state/panels";
import { bytes, many, seconds, shape } from "../../widgets/format";
import { Curve } from "./Curve";
import { bounds, innermost, since } from "./ending";
import { base } from "./words";

const MOST = 4; // tensors, as in the terminal

export function EndView({ end }: { end: Ending }) {
  const { memory } = end;
  const oldest = memory?.oldest.slice(0, MOST).filter((one) => !memory.largest.slice(0, MOST).some((other) => other.name === one.name && other.bytes === one.bytes)) ?? [];
  return (
    <>
      <Rows label="Threads" items={[...end.doing.map((one) => <Thread one={one} />), ...(end.moreThreads ? [<span class="faint">and {many(end.moreThreads, "more thread")}</span>] : [])]} />
      <Rows label="Stack" items={end.stacks.filter((stack) => stack.frames.length).map((stack) => <Stack stack={stack} />)} />
      <Rows label="Said" items={end.said.map((line) => <span class="mono quiet">{line}</span>)} />
      {memory && <Rows label="Memory" items={[...(memory.curve.length > 1 ? [<Curve memory={memory} />] : []), <span class="quiet">{bounds(memory)} <button type="button" class="link" onClick={() => showPanel("memory")}>Where it went</button></span>]} />}
      <Rows label="Largest" items={(memory?.largest ?? []).slice(0, MOST).map((one) => <Tensor one={one} />)} />
      <Rows label="Oldest" items={oldest.map((one) => <Tensor one={one} />)} />
    </>
  );
}

function Rows({ label, items }: { label: string; items: ComponentChildren[] }) {
  if (items.length === 0) return null;
  return (
    <div class="finding-row">
      <span class="finding-label">{label}</span>
      <ul class="end-list" aria-label={label}>{items.map((item, at) => <li key={at}>{item}</li>)}</ul>
    </div>
  );
}

/** main thread: train.py:31 MatMul → float32 [8192, 8192], in step (train.py:40), for 0.3 s */
function Thread({ one }: { one: Doing }) {
  const inner = innermost(one);
  return (
    <>
      <span class="quiet">{one.thread}:</span> {one.ended && "last "}<Line place={inner.place} /> <b>{inner.op}</b>
      {inner.makes && <span class="mono"> → {inner.makes}</span>}
      {inner.layer && `, layer ${inner.layer}`}
      {inner !== one && <>, in {one.op} (<Line place={one.place} />)</>}
      <span class="quiet">{since(one)}</span>
    </>
  );
}

/** The program's own lines; the others can be unfolded. */
function Stack({ stack }: { stack: Ending["stacks"][number] }) {
  const own = stack.frames.filter((frame) => frame.user);
  const [first, ...rest] = own.length ? own : stack.frames.slice(0, 1);
  return (
    <details>
      <summary>
        {stack.current && <span class="mark mark-bad end-mark">crashed</span>}
        {[first!, ...rest].slice(0, 6).map((frame, at) => <span key={at}>{at > 0 && " ← "}{frame.place ? <Line place={frame.place} /> : <span class="mono">{`${base(frame.path)}:${frame.line}`}</span>} <span class="quiet">in {frame.function}</span></span>)}
      </summary>
      <ol class="end-frames mono faint">{stack.frames.map((frame, at) => <li key={at} class={frame.user ? "end-own" : ""}>{`${frame.path}:${frame.line} in ${frame.function}`}</li>)}</ol>
    </details>
  );
}

function Tensor({ one }: { one: Held }) {
  return (
    <>
      <b>{bytes(one.bytes)}</b> {one.count > 1 && `${one.count} × `}<span class="mono">{one.name} {one.dtype} {shape(one.shape)}</span>
      {one.place && <>, <Line place={one.place} /></>}
      {one.seconds !== null && <span class="quiet">, {seconds(one.seconds)} old</span>}
    </>
  );
}

function Line({ place }: { place: Place | null }) {
  if (place === null) return <span class="faint">a line that is not the program's</span>;
  const go = (event: Event): void => {
    event.preventDefault(); // otherwise the summary element would open
    showPanel("source", { src: `${place.file}:${place.line}` });
  };
  return <button type="button" class="link mono" title={place.code ?? place.path} onClick={go}>{`${base(place.path)}:${place.line}`}</button>;
}
