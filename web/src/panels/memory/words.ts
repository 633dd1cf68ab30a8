/** The memory of a process in words. */
import type { Memory, MemoryMoment } from "../../api/memory";
import { bytes, count, many, seconds } from "../../widgets/format";

/** For readers who do not see the chart. */
export function summary(memory: Memory): string {
  const last = memory.seconds.length - 1;
  const limit = memory.limit === null ? "No limit." : `The limit is ${bytes(memory.limit)}.`;
  return `Resident memory over ${time(memory.seconds[last]! - memory.seconds[0]!)}: ${bytes(memory.start)} when recording began, ${bytes(memory.peak)} at most. The peak is at ${time(memory.at)}. ${limit}`;
}

/** Describes a point: "at 9.1 s, step 21: 963 MB resident, 145 MB in tensors". */
export function pointWords(memory: Memory, at: number): string {
  const step = memory.steps[at] === null ? "" : `, step ${count(memory.steps[at]!)}`;
  return `at ${time(memory.seconds[at]!)}${step}: ${bytes(memory.resident[at]!)} resident, ${inTensors(memory, at)}`;
}

function inTensors(memory: Memory, at: number): string {
  const sizes = memory.kinds.map((kind) => kind.bytes[at] ?? null);
  if (sizes.includes(null)) return "tensors were not recorded";
  return `${bytes(sizes.reduce<number>((sum, size) => sum + size!, 0))} in tensors`;
}

/** The five parts of the growth, as `sleuth memory` has them. */
export function parts({ growth, running }: MemoryMoment): { part: string; words: string; bytes: number }[] {
  const ops = running.length ? `: ${running.slice(0, 2).join(", ")}` : "";
  return [
    { part: "tensors", words: "tensors that were alive", bytes: growth.tensors },
    { part: "kept", words: "freed, and kept for later", bytes: growth.kept },
    { part: "own", words: "Python and TensorFlow themselves", bytes: growth.own },
    { part: "working", words: `in use by ops that were running${ops}`, bytes: growth.working },
    { part: "rest", words: "unattributed", bytes: growth.rest },
  ];
}

export function title(moment: MemoryMoment): string {
  const step = moment.step === null ? "" : `, step ${count(moment.step)}`;
  return `At ${time(moment.seconds)}${step}${moment.peak ? ", the peak" : ""}`;
}

/** Says if not all tensors are listed. */
export function caveat(memory: Memory): string | null {
  const said = [];
  if (memory.part) said.push(`Tensors are shown from ${time(memory.part.from)} to ${time(memory.part.to)} only: ${count(memory.part.rows)} of ${count(memory.part.of)} rows. Choose another moment to see those around it; what was made before may be missing.`);
  if (memory.lost) said.push(`${many(memory.lost, "older row")} ${memory.lost === 1 ? "was" : "were"} written over: what was made early may be missing.`);
  return said.join(" ") || null;
}

/** Of a moment; never in µs. */
export const time = (s: number): string => (s < 60 ? `${s.toFixed(Math.abs(s) < 10 ? 2 : 1)} s` : seconds(s));
