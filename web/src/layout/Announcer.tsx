/** Announces what the page shows, for screen readers. */
import { useEffect } from "preact/hooks";
import type { TensorDetail } from "../api/types";
import { focus } from "../state/focus";
import { ofRun } from "../state/name";
import { announce, noted, said } from "../state/said";
import { when } from "../widgets/format";
import { useAnswer } from "../widgets/useAnswer";

export function Announcer() {
  const id = focus.value;
  const detail = useAnswer<TensorDetail>(id === null ? null : ofRun(`tensors/${id}`)).value;
  useEffect(() => {
    if (detail) announce([detail.name, when(detail), detail.words].filter(Boolean).join(", "));
  }, [detail?.id]);
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">
        {said.value}
      </div>
      {noted.value && (
        <div class="noted" aria-hidden="true">
          {noted.value}
        </div>
      )}
    </>
  );
}
