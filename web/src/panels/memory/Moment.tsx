/** The breakdown of one moment: the parts of the growth, and the live tensors, grouped and the largest. */
import type { MemoryGroup, MemoryMoment, MemoryTensor } from "../../api/memory";
import type { Place } from "../../api/types";
import { setFocus } from "../../state/focus";
import { showPanel } from "../../state/panels";
import { bytes, count, many, seconds, shape } from "../../widgets/format";
import { percent } from "../flame/words";
import { base } from "../verdict/words";
import { BYS } from "./state";
import { parts, title } from "./words";

export function Moment({ moment, caveat }: { moment: MemoryMoment; caveat: string | null }) {
  return (
    <div class="memory-moment">
      <Growth moment={moment} />
      {caveat && <p class="memory-caveat faint">{caveat}</p>}
      {moment.known && moment.groups.length > 0 && <><Groups moment={moment} /><Tensors moment={moment} /></>}
      {moment.known && moment.groups.length === 0 && <p class="quiet">No tensor of 64 kB or more was alive then.</p>}
    </div>
  );
}

function Growth({ moment }: { moment: MemoryMoment }) {
  const { growth } = moment;
  const all = parts(moment).filter((part) => part.bytes > 0);
  return (
    <section aria-label="What the growth is made of">
      <h4 class="memory-title" title={moment.peak ? "Of the moments within 2 % of the most, the one with most in tensors" : undefined}>{title(moment)}: {bytes(moment.resident)} resident <span class="quiet">{bytes(Math.max(growth.bytes, 0))} more of its own than when recording began:</span></h4>
      <ul class="memory-parts">
        {all.map((part) => <li key={part.part} class={part.part === "rest" ? "faint" : ""}><b>{bytes(part.bytes)}</b> {growth.bytes > 0 && <span class="faint">{percent(part.bytes / growth.bytes)}</span>} {part.words}</li>)}
      </ul>
    </section>
  );
}

function Groups({ moment }: { moment: MemoryMoment }) {
  const most = moment.groups[0]!.bytes || 1;
  return (
    <table class="grid-table memory-table">
      <caption class="unseen">{`Tensors that were alive, by ${BYS[moment.by]}`}</caption>
      <thead><tr><th scope="col">{BYS[moment.by]}</th><th scope="col" class="number">memory</th><th scope="col" aria-label="share" /><th scope="col" class="number">tensors</th><th scope="col">largest</th></tr></thead>
      <tbody>
        {moment.groups.map((group) => <Group key={group.name} group={group} share={group.bytes / most} />)}
        {moment.moreGroups > 0 && <tr class="faint"><td colSpan={5}>and {count(moment.moreGroups)} more</td></tr>}
      </tbody>
    </table>
  );
}

function Group({ group, share }: { group: MemoryGroup; share: number }) {
  const name = group.place ? `${base(group.place.path)}:${group.place.line}` : group.name;
  return (
    <tr>
      <td class="mono memory-name"><Leading tensor={group.tensor} place={group.place} words={name} whole={group.name} /></td>
      <td class="number">{bytes(group.bytes)}</td>
      <td class="memory-share"><span style={{ width: `${Math.max(100 * share, 2)}%` }} /></td>
      <td class="number">{count(group.count)}</td>
      <td class="mono faint memory-name"><span class="cut-left" title={group.largest}><bdi>{`${group.largest} ${shape(group.shape)}`}</bdi></span></td>
    </tr>
  );
}

function Tensors({ moment }: { moment: MemoryMoment }) {
  const left = moment.total - moment.tensors.length;
  return (
    <table class="grid-table memory-table">
      <caption class="memory-caption">{left > 0 ? `The largest ${count(moment.tensors.length)} of ${many(moment.total, "tensor")}` : many(moment.total, "tensor")}, {bytes(moment.bytes)}</caption>
      <thead><tr><th scope="col">tensor</th><th scope="col" class="number">memory</th><th scope="col">shape</th><th scope="col">what for</th><th scope="col" class="number">age</th><th scope="col">line</th></tr></thead>
      <tbody>{moment.tensors.map((tensor, at) => <Tensor key={at} tensor={tensor} />)}</tbody>
    </table>
  );
}

function Tensor({ tensor }: { tensor: MemoryTensor }) {
  const { place } = tensor;
  return (
    <tr>
      <td class="mono memory-name"><Leading tensor={tensor.tensor} place={null} words={tensor.name} whole={`${tensor.name}, ${tensor.op}${tensor.layer ? `, layer ${tensor.layer}` : ""}`} /></td>
      <td class="number">{bytes(tensor.bytes)}</td>
      <td class="mono faint">{tensor.dtype} {shape(tensor.shape)}</td>
      <td>{tensor.kind}</td>
      <td class="number">{seconds(tensor.age)}</td>
      <td class="mono">{place ? <Leading tensor={tensor.tensor} place={place} words={`${base(place.path)}:${place.line}`} whole={place.code ?? ""} /> : "–"}</td>
    </tr>
  );
}

/** Focuses every panel on a tensor, on a line, or on both. */
function Leading({ tensor, place, words, whole }: { tensor: string | null; place: Place | null; words: string; whole: string }) {
  const text = <bdi>{words}</bdi>;
  if (tensor === null && place === null) return <span class="cut-left" title={whole}>{text}</span>;
  const go = (): void => {
    if (tensor !== null) setFocus(tensor);
    if (place !== null) showPanel("source", { src: `${place.file}:${place.line}` });
  };
  return <button type="button" class="link cut-left" title={whole} onClick={go}>{text}</button>;
}
