/** The health of a run in a few words: a mode that records no values finds no bad ones. */
import type { RunSummary } from "../api/types";
import { count } from "./format";

const BLIND = ["NO_TENSOR", "SHAPE"];

/** Whether its mode examines values at all. */
export function looked(run: Pick<RunSummary, "mode">): boolean {
  return !BLIND.includes(run.mode);
}

export function badness(run: Pick<RunSummary, "mode" | "bad" | "tensors">): string {
  if (run.bad > 0) return `${count(run.bad)} bad`;
  if (run.tensors === 0) return "nothing recorded";
  if (!looked(run)) return "values not recorded";
  return run.mode === "FLIGHT" ? "no call went bad" : "no bad values";
}
