/** For a gradient: the line that it differentiates, beside the line that requested it. */
import type { TensorDetail } from "../../api/types";
import { base } from "../verdict/words";
import { openSpot } from "./where";

export function Forward({ forward }: { forward: NonNullable<TensorDetail["forward"]> }) {
  const { place } = forward;
  return (
    <div class="forward">
      <span class="forward-label">Gradient of</span>
      <span class="mono cut" title={forward.name}>{forward.op}</span>
      {place ? (
        <button class="link mono" onClick={() => openSpot(place.file, place.line)} title={place.path}>
          {base(place.path)}:{place.line}
        </button>
      ) : (
        <span class="faint">from an unknown line</span>
      )}
      {place?.code && <code class="forward-code cut">{place.code.trim()}</code>}
    </div>
  );
}
