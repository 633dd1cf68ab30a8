/** One box of the grid: its tabs, and the panel in front. */
import { PanelBody } from "./PanelBody";
import type { Panel } from "../panels/registry";
import { fill, inFront, showPanel, whole } from "../state/panels";

export function Box({ tabs }: { tabs: Panel[] }) {
  const front = inFront(tabs);
  const filled = whole.value?.id === front.id;
  return (
    <section class={`box${front.compact ? " box-compact" : ""}`} aria-label={front.title}>
      <header class="box-head">
        <Tabs tabs={tabs} front={front} />
        {front.tools && <front.tools />}
        {!front.compact && (
          <button class="plain box-fill" onClick={() => fill(filled ? null : front.id)} title={filled ? "Back to all panels (Esc)" : "Give it the whole page"} aria-label={filled ? "Back to all panels" : `Enlarge ${front.title}`}>
            {filled ? "Close" : "Enlarge"}
          </button>
        )}
      </header>
      <div class="box-body" id={`panel-${front.id}`} role="tabpanel" aria-label={front.title} tabIndex={-1}>
        <PanelBody key={front.id} panel={front} />
      </div>
    </section>
  );
}

function Tabs({ tabs, front }: { tabs: Panel[]; front: Panel }) {
  return (
    <div class="tabs" role="tablist" onKeyDown={(event) => walk(event, tabs, front)}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          class="plain tab"
          role="tab"
          id={`tab-${tab.id}`}
          aria-selected={tab === front}
          tabIndex={tab === front ? 0 : -1}
          title={tab.key ? `${tab.title} (${tab.key})` : tab.title}
          onClick={() => showPanel(tab.id)}
        >
          {tab.title}
        </button>
      ))}
    </div>
  );
}

/** Left and right go from tab to tab. */
function walk(event: KeyboardEvent, tabs: Panel[], front: Panel): void {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const next = by === undefined ? undefined : tabs[(tabs.indexOf(front) + by + tabs.length) % tabs.length];
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  showPanel(next.id);
  requestAnimationFrame(() => document.getElementById(`tab-${next.id}`)?.focus());
}
