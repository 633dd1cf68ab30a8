/** The tensors that support the finding. */
import type { Finding } from "../../api/types";
import { setFocus } from "../../state/focus";
import { shape } from "../../widgets/format";
import { lineOf } from "./words";

type Piece = Finding["evidence"][number];

export function Evidence({ finding }: { finding: Finding }) {
  if (finding.evidence.length === 0) return null;
  return (
    <table class="evidence" aria-label="What was seen">
      <tbody>
        {finding.evidence.map((piece, n) => (
          <tr key={n}>
            <th scope="row">{piece.role}</th>
            <td class="mono evidence-name">{named(piece)}</td>
            <td class="mono faint evidence-type">{[piece.dtype, piece.shape && shape(piece.shape)].filter(Boolean).join(" ")}</td>
            <td class={piece.role === "out" ? "is-bad" : ""}>{piece.health}</td>
            <td class="faint evidence-line">{lineOf(piece.line, finding)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function named(piece: Piece) {
  if (piece.tensor === null) return <span class="cut-left" title={piece.name}><bdi>{piece.name}</bdi></span>;
  return <button class="link cut-left" title={piece.name} onClick={() => setFocus(piece.tensor)}><bdi>{piece.name}</bdi></button>;
}
