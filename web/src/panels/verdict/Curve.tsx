/** Memory up to the end, small enough for a line of text. */
import type { MemoryAtEnd } from "../../api/ending";
import { bytes, seconds } from "../../widgets/format";

const [WIDE, HIGH] = [180, 26];

export function Curve({ memory }: { memory: MemoryAtEnd }) {
  const { curve, limit } = memory;
  const [first, last] = [curve[0]!, curve.at(-1)!];
  const words = `${bytes(first[1])} → ${bytes(last[1])} in ${seconds(last[0] - first[0])}`;
  return (
    <span class="end-curve">
      <svg width={WIDE} height={HIGH} viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={`Memory up to the end: ${words}`}>
        <polyline points={points(memory)} />
        {limit !== null && limit <= 2 * highest(memory) && <line x1={0} x2={WIDE} y1={level(limit, memory)} y2={level(limit, memory)} />}
      </svg>
      {words}
    </span>
  );
}

const highest = ({ curve }: MemoryAtEnd): number => curve.reduce((most, [, size]) => Math.max(most, size), 1);

/** The vertical position of an amount; the limit is included if it is near. */
export function level(size: number, memory: MemoryAtEnd): number {
  const most = highest(memory);
  const top = memory.limit !== null && memory.limit <= 2 * most ? Math.max(memory.limit, most) : most;
  return Math.round((HIGH - 1 - (size / top) * (HIGH - 2)) * 10) / 10;
}

export function points(memory: MemoryAtEnd): string {
  const [from, to] = [memory.curve[0]![0], memory.curve.at(-1)![0]];
  return memory.curve.map(([at, size]) => `${Math.round(((at - from) / (to - from || 1)) * WIDE * 10) / 10},${level(size, memory)}`).join(" ");
}
