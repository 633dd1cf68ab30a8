/** The end of a program in words, as `sleuth why` prints it. */
import type { Doing, Ending, MemoryAtEnd } from "../../api/ending";
import type { Finding } from "../../api/types";
import { bytes, seconds } from "../../widgets/format";

/** The op itself, if it is inside a function. */
export function innermost(one: Doing): Doing {
  return one.inside[0] ? innermost(one.inside[0]) : one;
}

export function since(one: Doing): string {
  if (one.seconds === null) return "";
  return one.ended ? `, ${seconds(one.seconds)} before` : `, for ${seconds(one.seconds)}`;
}

export function bounds(memory: MemoryAtEnd): string {
  const peak = memory.peak ? `at most ${bytes(memory.peak)}` : "";
  const limit = memory.limit ? `the container's limit is ${bytes(memory.limit)}` : "";
  const machine = memory.machine && !memory.limit ? `the machine has ${bytes(memory.machine)}` : "";
  return [peak, limit, machine].filter(Boolean).join(", ");
}

/** The end, if a finding is about it. */
export function endOf(finding: Finding, end: Ending | null): Ending | null {
  return end !== null && end.kind === finding.cause ? end : null;
}
