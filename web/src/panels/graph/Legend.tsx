/** Explains the marks of the graph that are on screen. */
import type { Neighbourhood } from "../../api/types";

export function Legend({ part }: { part: Neighbourhood }) {
  const { nodes, edges } = part;
  const entries: [boolean, string, string][] = [
    [true, "focus", "in focus"],
    [nodes.some((node) => node.onPath === "origin"), "origin", "where it was born"],
    [nodes.some((node) => node.onPath === "path" || node.bad), "bad", "bad"],
    [nodes.some((node) => node.onPath === "symptom"), "symptom", "where it did harm"],
    [nodes.some((node) => !node.seen), "unseen", "fused or not recorded"],
    [nodes.some((node) => node.gradient), "gradient", "gradient"],
    [edges.some((edge) => edge.back), "back", "next iteration"],
  ];
  return (
    <ul class="graph-legend" aria-label="Legend">
      {entries.filter(([there]) => there).map(([, kind, words]) => (
        <li key={kind}><span class={`graph-key graph-key-${kind}`} aria-hidden="true">{kind === "gradient" ? "∇" : ""}</span>{words}</li>
      ))}
    </ul>
  );
}
