/** Grey lines as a placeholder for an answer, so that nothing jumps when it arrives. */
export function Loading({ lines = 3, what = "Loading" }: { lines?: number; what?: string }) {
  return (
    <div class="loading" role="status" aria-label={what}>
      {Array.from({ length: lines }, (_, n) => (
        <span key={n} class={`loading-line loading-${n % 4}`} />
      ))}
    </div>
  );
}
