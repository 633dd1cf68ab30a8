/** The drawn graph: moved by dragging, scaled by the wheel, walked by arrow keys. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Neighbourhood } from "../../api/types";
import { useWheel } from "../../widgets/useWheel";
import { GroupShape } from "./GroupShape";
import type { Laid } from "./layout";
import { NodeShape } from "./NodeShape";
import { activate, turn } from "./state";
import { follow, fit, revealing, transform, type Viewport, zoomAt } from "./viewport";
import { type Arrow, walk } from "./walk";

const ARROWS: Record<string, Arrow> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

export function Drawing({ part, laid }: { part: Neighbourhood; laid: Laid }) {
  const svg = useRef<SVGSVGElement>(null);
  const view = useSignal<Viewport>({ x: 0, y: 0, k: 1 });
  const gliding = useSignal(true);
  const cursor = useSignal(part.focus);
  const before = useRef<{ laid: Laid; focus: string } | null>(null);
  const box = (id: string) => laid.nodes.find((placed) => placed.node.id === id) ?? null;
  const screen = () => ({ width: svg.current?.clientWidth ?? 0, height: svg.current?.clientHeight ?? 0 });
  const show = (next: Viewport, glide: boolean): void => void ((gliding.value = glide), (view.value = next));
  const refit = (): void => show(fit(screen(), laid, box(part.focus)), true);

  useLayoutEffect(() => {
    const last = before.current;
    before.current = { laid, focus: part.focus };
    if (last === null) show(fit(screen(), laid, box(part.focus)), false);
    else if (last.focus !== part.focus) refit();
    else show(follow(view.peek(), last.laid, laid, part.focus, screen()), true);
    if (!box(cursor.peek()) || last?.focus !== part.focus) cursor.value = part.focus;
  }, [laid]);
  useEffect(() => {
    const watch = new ResizeObserver(() => show(fit(screen(), laid, box(part.focus)), false));
    watch.observe(svg.current!);
    return () => watch.disconnect();
  }, [laid]);
  useWheel(svg, (event, x, y) => show(zoomAt(view.peek(), x, y, Math.exp(-Math.max(Math.min(event.deltaY, 240), -240) * (event.ctrlKey ? 0.01 : 0.002))), false));

  const step = (arrow: Arrow): void => {
    const next = walk(laid, cursor.peek(), arrow);
    const here = box(cursor.peek());
    if (next === null) {
      const more = here && (arrow === "up" ? here.node.up : arrow === "down" && here.node.down);
      if (more && here.node.id !== part.focus) activate(here.node, part);
      return;
    }
    cursor.value = next;
    show(revealing(view.peek(), screen(), box(next)!), true);
    svg.current?.querySelector<SVGGElement>(`[data-node="${CSS.escape(next)}"]`)?.focus({ preventScroll: true });
  };
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { width, height } = screen();
    const arrow = ARROWS[event.key];
    if (arrow) step(arrow);
    else if (event.key === "+" || event.key === "=") show(zoomAt(view.peek(), width / 2, height / 2, 1.25), true);
    else if (event.key === "-") show(zoomAt(view.peek(), width / 2, height / 2, 0.8), true);
    else if (event.key === "Home" || event.key === "0") refit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const dragged = useRef(0); // pixels since the button went down: a click is none
  const drag = (event: PointerEvent): void => {
    if (event.buttons !== 1) return;
    dragged.current += Math.abs(event.movementX) + Math.abs(event.movementY);
    show({ ...view.peek(), x: view.peek().x + event.movementX, y: view.peek().y + event.movementY }, false);
  };

  return (
    <div class="graph-room">
      <svg ref={svg} class="graph-drawing" role="group" aria-label={`Graph around ${box(part.focus)?.title ?? "the op"}: ${part.nodes.length} ops. Arrows walk along edges, Enter focuses.`}
        onKeyDown={press} onPointerDown={() => (dragged.current = 0)} onPointerMove={drag} onClickCapture={(event) => dragged.current > 5 && event.stopPropagation()} onDblClick={refit}>
        <defs>
          {["plain", "bad"].map((kind) => (
            <marker key={kind} id={`arrow-${kind}`} class={`graph-arrow graph-arrow-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" markerUnits="userSpaceOnUse">
              <path d="M0,0.8L7,4L0,7.2z" />
            </marker>
          ))}
        </defs>
        <g class={gliding.value ? "graph-moved graph-glide" : "graph-moved"} transform={transform(view.value)}>
          {laid.groups.map((placed) => <GroupShape key={placed.group.id} placed={placed} close={() => turn(placed.group.id, true)} />)}
          {laid.edges.map(({ edge, path, key }) => (
            <path key={key} d={path} class={`graph-edge${edge.bad ? " graph-edge-bad" : ""}${edge.back ? " graph-edge-back" : ""}`} marker-end={`url(#arrow-${edge.bad ? "bad" : "plain"})`} />
          ))}
          {laid.nodes.map((placed) => (
            <NodeShape key={placed.node.id} placed={placed} part={part} focused={placed.node.id === part.focus} cursor={placed.node.id === cursor.value}
              choose={() => ((cursor.value = placed.node.id), activate(placed.node, part))} />
          ))}
        </g>
      </svg>
      <div class="graph-zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom out" onClick={() => show(zoomAt(view.peek(), screen().width / 2, screen().height / 2, 0.8), true)}>−</button>
        <button type="button" aria-label="Zoom in" onClick={() => show(zoomAt(view.peek(), screen().width / 2, screen().height / 2, 1.25), true)}>+</button>
        <button type="button" title="Fit (0, or double click)" onClick={refit}>Fit</button>
      </div>
    </div>
  );
}
