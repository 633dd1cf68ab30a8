/** The drawn graph: moved by dragging, scaled by the wheel, walked by arrow keys. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Neighbourhood } from "../../api/types";
import { GroupShape } from "./GroupShape";
import { nodeOf, press } from "./keys";
import type { Laid } from "./layout";
import { NodeShape } from "./NodeShape";
import { activate, turn } from "./state";
import { type Moves, useViewport } from "./useViewport";
import { transform } from "./viewport";

export function Drawing({ part, laid }: { part: Neighbourhood; laid: Laid }) {
  const moves = useViewport(laid, part.focus);
  const cursor = useSignal(part.focus);
  useLayoutEffect(() => void (cursor.value = part.focus), [part.focus]);
  if (!part.nodes.some((node) => node.id === cursor.value)) cursor.value = part.focus;
  const acted = useRef(false); // the reader used mouse or key in here, so the node with the focus may be gone
  const act = (what: () => void): void => void ((acted.current = true), what());
  useLayoutEffect(() => {
    if (acted.current) nodeOf(moves, part.nodes.some((node) => node.id === cursor.peek()) ? cursor.peek() : part.focus)?.focus({ preventScroll: true });
    acted.current = false;
  }, [laid]);
  const dragged = useRef(0); // pixels since the button went down; 0 for a click
  const drag = (event: PointerEvent): void => {
    if (event.buttons !== 1) return;
    dragged.current += Math.abs(event.movementX) + Math.abs(event.movementY);
    moves.pan(event.movementX, event.movementY);
  };
  const name = laid.nodes.find((placed) => placed.node.id === part.focus)?.title ?? "the op";
  return (
    <div class="graph-room">
      <svg ref={moves.svg} class="graph-drawing" role="group" aria-label={`Graph around ${name}: ${part.nodes.length} ops. Arrows walk along edges, Enter focuses.`}
        onKeyDown={(event) => press(event, part, laid, cursor, moves)} onDblClick={moves.refit}
        onPointerDown={() => (dragged.current = 0)} onPointerMove={drag} onClickCapture={(event) => dragged.current > 5 && event.stopPropagation()}>
        <Arrows />
        <g class={moves.gliding.value ? "graph-glide" : ""} transform={transform(moves.view.value)}>
          {laid.groups.map((placed) => <GroupShape key={placed.group.id} placed={placed} close={() => act(() => turn(placed.group.id, true))} />)}
          <Edges laid={laid} />
          {laid.nodes.map((placed) => (
            <NodeShape key={placed.node.id} placed={placed} part={part} focused={placed.node.id === part.focus} cursor={placed.node.id === cursor.value}
              choose={() => act(() => ((cursor.value = placed.node.id), activate(placed.node, part)))} />
          ))}
        </g>
      </svg>
      <ZoomButtons moves={moves} />
    </div>
  );
}

function Arrows() {
  return (
    <defs>
      {["plain", "bad"].map((kind) => (
        <marker key={kind} id={`arrow-${kind}`} class={`graph-arrow-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
          <path d="M0,0.8L7,4L0,7.2z" />
        </marker>
      ))}
    </defs>
  );
}

function Edges({ laid }: { laid: Laid }) {
  return (
    <g>
      {laid.edges.map(({ edge, path, key }) => (
        <path key={key} d={path} class={`graph-edge${edge.bad ? " graph-edge-bad" : ""}${edge.back ? " graph-edge-back" : ""}`} marker-end={`url(#arrow-${edge.bad ? "bad" : "plain"})`} />
      ))}
    </g>
  );
}

function ZoomButtons({ moves }: { moves: Moves }) {
  return (
    <div class="graph-zoom" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom out" onClick={() => moves.zoom(0.8)}>−</button>
      <button type="button" aria-label="Zoom in" onClick={() => moves.zoom(1.25)}>+</button>
      <button type="button" title="Fit (0, or double click)" onClick={moves.refit}>Fit</button>
    </div>
  );
}
