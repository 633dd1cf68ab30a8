/** The panels of the page, and where each stands. A new one is one line here. */
import type { ComponentType } from "preact";
import type { Run } from "../api/types";

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
  /** What the run must have recorded for it; else the page says which mode does. */
  needs?: keyof Run["records"];
}

export const PANELS: Panel[] = [];
