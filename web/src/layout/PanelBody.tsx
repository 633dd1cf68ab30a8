/** A panel, or why this run has nothing for it. A panel that fails does not affect the others. */
import { Component, type ComponentChildren } from "preact";
import type { Run } from "../api/types";
import type { Panel } from "../panels/registry";
import { run } from "../state/run";
import { Empty } from "../widgets/Empty";

/** The lightest mode that records what a panel needs. */
const MODES: Record<keyof Run["records"], string> = {
  shapes: "SHAPE",
  health: "CURT_HEALTH",
  counts: "CONCISE_HEALTH",
  range: "FULL_HEALTH",
  values: "FULL_TENSOR",
};

export function PanelBody({ panel }: { panel: Panel }) {
  const now = run.value;
  if (now && panel.needs && !now.records[panel.needs]) return <TooLight run={now} mode={MODES[panel.needs]} />;
  return (
    <Contained title={panel.title}>
      <panel.component />
    </Contained>
  );
}

/** The mode of this run does not record what the panel needs. */
export function TooLight({ run, mode }: { run: Run; mode: string }) {
  return (
    <Empty title={`Not recorded in mode ${run.mode}`} command={`sleuth run --mode ${mode} ${run.program}`}>
      {run.modeWhat} Record again with {mode} to see it here:
    </Empty>
  );
}

class Contained extends Component<{ title: string; children: ComponentChildren }, { error: string | null }> {
  state = { error: null };

  static getDerivedStateFromError(error: unknown): { error: string } {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  render() {
    if (this.state.error === null) return this.props.children;
    return (
      <Empty title={`${this.props.title} could not be drawn.`}>
        {this.state.error}. The other panels still work. <button class="link" onClick={() => this.setState({ error: null })}>Try again</button>
      </Empty>
    );
  }
}
