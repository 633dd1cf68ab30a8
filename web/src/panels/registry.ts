/** The panels of the page, and where each stands. A new one is one line here. */
import type { ComponentType } from "preact";
import type { Run } from "../api/types";
import { Alerts } from "./alerts/Alerts";
import { Source } from "./source/Source";
import { Stack } from "./stack/Stack";
import { Tensors } from "./tensors/Tensors";

export interface Panel {
  id: string;
  title: string;
  component: ComponentType;
  /** Columns of the page; where it is narrow, middle and right become one. "whole" stands in place of all others. */
  region: "left" | "middle" | "right" | "whole";
  /** Which of the column's boxes; panels that share one are tabs. */
  row: 0 | 1;
  /** Brings it to the front. */
  key?: string;
  /** As high as what is in it; stands on top of its column. */
  compact?: boolean;
  /** What the run must have recorded for it; else the page says which mode does. */
  needs?: keyof Run["records"];
}

export const PANELS: Panel[] = [
  { id: "alerts", title: "Alerts", component: Alerts, region: "left", row: 0, compact: true },
  { id: "tensors", title: "Tensors", component: Tensors, region: "left", row: 1, key: "l" },
  { id: "source", title: "Source", component: Source, region: "right", row: 1, key: "s" },
  { id: "stack", title: "Stack trace", component: Stack, region: "right", row: 1, key: "c" },
];
