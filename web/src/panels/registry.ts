/** The panels of the page, and their positions. A new one is one line here. */
import type { ComponentType } from "preact";
import type { Inside } from "../api/inside";
import type { Run } from "../api/types";
import { Alerts } from "./alerts/Alerts";
import { AttentionPanel } from "./attention/AttentionPanel";
import { ComparePanel } from "./compare/ComparePanel";
import { FlamePanel } from "./flame/FlamePanel";
import { FlameTools } from "./flame/FlameTools";
import { GraphPanel } from "./graph/GraphPanel";
import { LayersPanel } from "./layers/LayersPanel";
import { MemoryPanel } from "./memory/MemoryPanel";
import { MemoryTools } from "./memory/MemoryTools";
import { RunsPanel } from "./runs/RunsPanel";
import { Source } from "./source/Source";
import { Stack } from "./stack/Stack";
import { TensorPanel } from "./tensor/TensorPanel";
import { Tensors } from "./tensors/Tensors";
import { TimelinePanel } from "./timeline/TimelinePanel";
import { TimelineTools } from "./timeline/TimelineTools";
import { WatchedPanel } from "./watched/WatchedPanel";

export interface Panel {
  id: string;
  title: string;
  component: ComponentType;
  /** Stands in the box's head, beside the title. */
  tools?: ComponentType;
  /** Columns of the page; if it is narrow, middle and right become one. "strip" stands above them all, "whole" replaces all others. */
  region: "strip" | "left" | "middle" | "right" | "whole";
  /** Which of the column's boxes; panels that share one are tabs. */
  row: 0 | 1;
  /** Brings it to the front. */
  key?: string;
  /** As high as what is in it; stands on top of its column. */
  compact?: boolean;
  /** What the run must have recorded for it; otherwise the page says which mode does. */
  needs?: keyof Run["records"];
  /** The layer statistics that it needs to have a tab; a key or the address opens it anyway. */
  sees?: keyof Inside;
}

export const PANELS: Panel[] = [
  { id: "alerts", title: "Alerts", component: Alerts, region: "left", row: 0, compact: true },
  { id: "tensors", title: "Tensors", component: Tensors, region: "left", row: 1, key: "l" },
  { id: "timeline", title: "Timeline", component: TimelinePanel, tools: TimelineTools, region: "strip", row: 0, key: "t" },
  { id: "flame", title: "Time", component: FlamePanel, tools: FlameTools, region: "strip", row: 0, key: "f" },
  { id: "memory", title: "Memory", component: MemoryPanel, tools: MemoryTools, region: "strip", row: 0, key: "m" },
  { id: "tensor", title: "Tensor", component: TensorPanel, region: "middle", row: 0, key: "i" },
  { id: "graph", title: "Graph", component: GraphPanel, region: "middle", row: 1, key: "g" },
  { id: "watched", title: "Watched", component: WatchedPanel, region: "middle", row: 1, key: "w" },
  { id: "attention", title: "Attention", component: AttentionPanel, region: "middle", row: 1, key: "a", sees: "attention" },
  { id: "layers", title: "Layers", component: LayersPanel, region: "middle", row: 1, key: "y", sees: "layers" },
  { id: "source", title: "Source", component: Source, region: "right", row: 0, key: "s" },
  { id: "stack", title: "Stack trace", component: Stack, region: "right", row: 1, key: "c" },
  { id: "runs", title: "Runs", component: RunsPanel, region: "whole", row: 0 },
  { id: "compare", title: "Compare", component: ComparePanel, region: "whole", row: 0 },
];
