/** The result of a comparison. */
import type { Comparison } from "../../api/types";
import { showPanel } from "../../state/panels";
import { count, many } from "../../widgets/format";
import { Empty } from "../../widgets/Empty";
import { Side } from "./Side";

const MOST = 100; // the server lists at most so many

type Differing = Comparison["differing"][number];

export function Differences({ comparison }: { comparison: Comparison }) {
  const { same, parted, differing, onlyHere, onlyThere, compared } = comparison;
  if (same) return <Empty title="The two runs are the same">{`All ${many(compared, "tensor")} that both have were compared: their health does not differ, and neither has an op that the other lacks.`}</Empty>;
  return (
    <>
      {parted ? <Parted parted={parted} comparison={comparison} /> : <p class="compare-note">{nothingParts(compared)}</p>}
      {differing.length > 0 && <DifferingOps all={differing} />}
      <div class="compare-only">
        <Only title={`Only in ${comparison.run}`} names={onlyHere} />
        <Only title={`Only in ${comparison.with}`} names={onlyThere} />
      </div>
    </>
  );
}

function nothingParts(compared: number): string {
  if (compared === 0) return "The two runs have no tensor in common: they seem to be of different programs.";
  return `The ${many(compared, "tensor")} that both have do not differ.`;
}

function Parted({ parted, comparison }: { parted: NonNullable<Comparison["parted"]>; comparison: Comparison }) {
  return (
    <section class="compare-parted" aria-label="Where they part">
      <h3>They part here: <span class="compare-why">{parted.why}</span></h3>
      <p class="quiet">The first of {many(comparison.compared, "tensor")} that both have.</p>
      <div class="compare-sides">
        <Side run={comparison.run} row={parted.here} focusable />
        <Side run={comparison.with} row={parted.there} />
      </div>
    </section>
  );
}

function DifferingOps({ all }: { all: Differing[] }) {
  return (
    <section aria-label="Ops that differ">
      <h3>{many(all.length, "op")} that differ{all.length === 1 ? "s" : ""}, in the order of the run</h3>
      <table class="run-table">
        <caption class="unseen">The first difference of each op</caption>
        <thead><tr><th scope="col">op</th><th scope="col">type</th><th scope="col">step</th><th scope="col">difference</th><th scope="col">line</th></tr></thead>
        <tbody>{all.map((one, at) => <DifferingOp key={at} one={one} />)}</tbody>
      </table>
    </section>
  );
}

function DifferingOp({ one: { name, here, why } }: { one: Differing }) {
  return (
    <tr>
      <td class="mono compare-name"><button type="button" class="link" title={name} onClick={() => showPanel("tensor", { tensor: here.id })}>{name}</button></td>
      <td class="mono">{here.type}</td>
      <td class="number">{here.step === null ? "–" : count(here.step)}</td>
      <td class={here.health.bad ? "is-bad compare-wide" : "compare-wide"}>{why}</td>
      <td class="mono quiet">{here.place ? `${here.place.path.split("/").at(-1)}:${here.place.line}` : "–"}</td>
    </tr>
  );
}

function Only({ title, names }: { title: string; names: string[] }) {
  if (!names.length) return null;
  return (
    <section aria-label={title}>
      <h3>{title} <span class="faint">{names.length < MOST ? many(names.length, "op") : `the first ${MOST} ops`}</span></h3>
      <ul class="mono">{names.map((name) => <li key={name} class="cut" title={name}>{name}</li>)}</ul>
    </section>
  );
}
