/** Folds consecutive library frames into one. */
import type { Frame } from "../../api/types";

export interface Fold {
  library: boolean;
  frames: Frame[];
}

/** The latest call first; if no frame is the program's, nothing is folded. */
export function folded(stack: Frame[]): Fold[] {
  const latest = [...stack].reverse();
  if (!latest.some((frame) => frame.user)) return [{ library: false, frames: latest }];
  const folds: Fold[] = [];
  for (const frame of latest) {
    const last = folds.at(-1);
    if (last && last.library === !frame.user) last.frames.push(frame);
    else folds.push({ library: !frame.user, frames: [frame] });
  }
  return folds;
}
