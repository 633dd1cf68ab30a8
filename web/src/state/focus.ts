/** What every panel looks at: the run, and the tensor in focus. */
import type { TensorId } from "../api/types";
import { go, part } from "./address";

export const runName = part("run");
export const focus = part("tensor");

/** Every panel follows. */
export function setFocus(tensor: TensorId | null): void {
  go({ tensor });
}
