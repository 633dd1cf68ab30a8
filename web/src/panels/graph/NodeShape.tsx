/** An op, or a closed group. */
import type { Neighbourhood } from "../../api/types";
import type { PlacedNode } from "./layout";

interface Props {
  placed: PlacedNode;
  part: Neighbourhood;
  focused: boolean;
  cursor: boolean;
  choose: () => void;
}

const ROLES = { origin: "born here", symptom: "harm", path: null } as const;

export function NodeShape({ placed, part, focused, cursor, choose }: Props) {
  const { node, x, y, width, height, title, text } = placed;
  const group = part.groups.find((one) => one.id === node.id);
  const role = node.onPath && ROLES[node.onPath];
  const bad = node.bad || node.onPath !== null;
  const unseen = !node.seen && !group;
  const box = [focused && "is-focus", focused && !bad && "is-healthy-focus", bad && "is-bad-node", node.onPath === "origin" && "on-origin", unseen && "is-unseen"];
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    choose();
  };
  return (
    <g class={`graph-node${unseen ? " is-unseen" : ""}`} style={{ transform: `translate(${x}px, ${y}px)` }} data-node={node.id} role="button" tabindex={cursor ? 0 : -1}
      aria-label={words(placed, part, focused)} {...(group ? { "aria-expanded": false } : {})} onClick={choose} onKeyDown={press}>
      <title>{`${node.name}${node.place ? `\n${node.place.path}:${node.place.line}` : ""}`}</title>
      {group && <rect class="graph-under" x={4} y={4} width={width} height={height} rx={6} />}
      <rect class={["graph-box", ...box].filter(Boolean).join(" ")} width={width} height={height} rx={6} />
      {node.up && <path class="graph-on" d={`M${width - 20},-4h10`} />}
      {node.down && <path class="graph-on" d={`M${width - 20},${height + 4}h10`} />}
      <text class="graph-title" x={width / 2} y={text ? 16 : height / 2 + 4}>{node.gradient ? `∇ ${title}` : title}</text>
      {text && <text class="graph-text" x={width / 2} y={30}>{text}</text>}
      {role && (
        <g class="graph-role" transform={`translate(${width - 6} 0)`}>
          <rect x={-role.length * 6 - 10} y={-12} width={role.length * 6 + 10} height={15} rx={7} />
          <text x={-role.length * 3 - 5} y={-1}>{role}</text>
        </g>
      )}
    </g>
  );
}

function words({ node, title }: PlacedNode, { edges, groups }: Neighbourhood, focused: boolean): string {
  const group = groups.find((one) => one.id === node.id);
  const inputs = edges.filter((edge) => edge.to === node.id).length;
  const takers = edges.filter((edge) => edge.from === node.id).length;
  const role = { origin: "origin of the bad value", path: "on the bad path", symptom: "where it did harm" };
  const facts = [
    group ? `${group.kind} ${group.name}, ${group.size} ops, closed` : `${title}, ${node.name}`,
    focused && "in focus", node.bad && "bad", node.onPath && role[node.onPath], node.gradient && "gradient", !node.seen && !group && "not recorded",
    `${inputs} inputs, ${takers} consumers shown`,
  ];
  return facts.filter(Boolean).join(", ");
}
