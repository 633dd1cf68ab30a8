/** An open group: a box around its ops; its name closes it. */
import { shorten } from "../../widgets/shorten";
import type { PlacedGroup } from "./layout";

export function GroupShape({ placed, close }: { placed: PlacedGroup; close: () => void }) {
  const { group, x, y, width, height, depth } = placed;
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  const letters = Math.max(Math.floor(width / 6.4) - group.kind.length - 4, 8);
  return (
    <g class={`graph-group graph-group-${depth % 2}${group.bad ? " is-bad-group" : ""}`} style={{ transform: `translate(${x}px, ${y}px)` }}>
      <rect width={width} height={height} rx={8} />
      <g role="button" tabindex={0} aria-expanded={true} aria-label={`${group.kind} ${group.name}, ${group.size} ops, open; Enter closes`} onClick={close} onKeyDown={press}>
        <title>{`${group.kind} ${group.name}: click to close`}</title>
        <text x={9} y={13}>{`▾ ${group.kind} ${shorten(group.name, letters)}`}</text>
      </g>
    </g>
  );
}
