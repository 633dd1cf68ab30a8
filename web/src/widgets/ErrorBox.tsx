/** A failed request: what happened, and one next step. */
import type { RequestFailed } from "../api/client";

export function ErrorBox({ error }: { error: RequestFailed }) {
  return (
    <div class="error-box" role="alert">
      <p class="error-what">{error.what}</p>
      {error.next !== null && <p class="error-next">{error.next}</p>}
    </div>
  );
}
