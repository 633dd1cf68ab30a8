/** What is under the pointer, beside it. */
import type { Hit } from "./hit";
import type { Size } from "../../widgets/useCanvas";

export function Tooltip({ hit, at, room }: { hit: Hit; at: { x: number; y: number }; room: Size }) {
  const left = at.x > room.width / 2;
  const side = left ? { right: `${room.width - at.x + 12}px` } : { left: `${at.x + 12}px` };
  const up = at.y > room.height / 2;
  const height = up ? { bottom: `${room.height - at.y + 8}px` } : { top: `${at.y + 12}px` };
  return (
    <div class={`chart-tip${hit.bad ? " chart-tip-bad" : ""}`} aria-hidden="true" style={{ ...side, ...height }}>
      {hit.words.map((line, at) => (
        <div key={at} class={at ? "" : "quiet"}>{line}</div>
      ))}
      {hit.tensor && <div class="faint">click to focus</div>}
    </div>
  );
}
