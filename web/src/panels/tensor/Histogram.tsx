/** How the finite values are spread. */
import { useSignal } from "@preact/signals";
import { count, value } from "../../widgets/format";

const [WIDTH, HEIGHT] = [400, 70];

export function Histogram({ edges, counts }: { edges: number[]; counts: number[] }) {
  const over = useSignal<number | null>(null);
  const most = Math.max(...counts, 1);
  const wide = WIDTH / Math.max(counts.length, 1);
  const high = (many: number): number => (many ? Math.max((many / most) * HEIGHT, 1.5) : 0);
  return (
    <figure class="histogram" onPointerLeave={() => (over.value = null)}>
      <figcaption><span>Histogram of the finite values</span><span class="quiet">{over.value === null ? "" : bucket(edges, counts, over.value)}</span></figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words(edges, counts)}>
        {counts.map((many, at) => (
          <g key={at} onPointerEnter={() => (over.value = at)}>
            <rect class="histogram-room" x={at * wide} y={0} width={wide} height={HEIGHT} />
            <rect class="histogram-bar" x={at * wide + 0.5} y={HEIGHT - high(many)} width={Math.max(wide - 1, 0.5)} height={high(many)} />
          </g>
        ))}
      </svg>
      <div class="histogram-axis faint"><span>{value(edges[0] ?? null)}</span><span>{value(edges.at(-1) ?? null)}</span></div>
    </figure>
  );
}

const bucket = (edges: number[], counts: number[], at: number): string => `${value(edges[at]!)} … ${value(edges[at + 1]!)}: ${count(counts[at]!)}`;

function words(edges: number[], counts: number[]): string {
  const fullest = counts.indexOf(Math.max(...counts));
  return `Histogram from ${value(edges[0] ?? null)} to ${value(edges.at(-1) ?? null)}; most, ${count(counts[fullest] ?? 0)}, are between ${value(edges[fullest] ?? null)} and ${value(edges[fullest + 1] ?? null)}.`;
}
