/** The panels, in columns whose borders can be moved. */
import { useEffect, useRef, useState } from "preact/hooks";
import { placed, whole } from "../state/panels";
import { arrange, type Column, STRIP, strip } from "./arrange";
import { Box } from "./Box";
import { share, shift } from "./sizes";
import { Splitter } from "./Splitter";

/** The defaults, until the reader moves the borders. */
const SHARES: Record<string, number> = { left: 1.15, middle: 0.95, right: 0.95, side: 1, strip: STRIP, columns: 1 - STRIP };

export function Grid() {
  const ref = useRef<HTMLDivElement>(null);
  const room = useRoom(ref);
  const columns = arrange(placed.value, room.width, room.height);
  const above = whole.value ? [] : strip(placed.value, room.width, room.height);
  return (
    <div class="grid" ref={ref}>
      {above.length > 0 && (
        <div class="strip" style={{ flexGrow: size("strip") }}>
          <Box tabs={above} />
        </div>
      )}
      {above.length > 0 && between([{ id: "strip" }, { id: "columns" }], 1, false)}
      <div class="columns" style={{ flexGrow: above.length > 0 ? size("columns") : 1 }}>
        {whole.value ? <Box key={whole.value.id} tabs={[whole.value]} /> : columns.flatMap((column, n) => [n > 0 && between(columns, n, true), <Stacked key={column.id} column={column} />])}
      </div>
    </div>
  );
}

function Stacked({ column }: { column: Column }) {
  const names = column.boxes.map((_, n) => ({ id: `${column.id}/${n}` }));
  return (
    <div class="column" style={{ flexGrow: size(column.id) }}>
      {column.boxes.flatMap((tabs, n) => {
        const fixed = tabs[0]?.compact === true;
        const above = column.boxes[n - 1]?.[0];
        return [
          n > 0 && (above?.compact ? <div key={`gap-${n}`} class="gap" /> : between(names, n, false)),
          <div key={tabs[0]?.id} class={fixed ? "cell cell-fixed" : "cell"} style={fixed ? {} : { flexGrow: size(`${column.id}/${n}`) }}>
            <Box tabs={tabs} />
          </div>,
        ];
      })}
    </div>
  );
}

function between(parts: { id: string }[], n: number, upright: boolean) {
  const [before, after] = [parts[n - 1]?.id ?? "", parts[n]?.id ?? ""];
  const move = (by: number): void => shift(before, after, by, [SHARES[before] ?? 1, SHARES[after] ?? 1]);
  return <Splitter key={`${before}|${after}`} upright={upright} label={upright ? "Width of the columns" : "Height of the panels"} onMove={move} />;
}

function size(name: string): number {
  return share(name, SHARES[name] ?? 1);
}

function useRoom(ref: { current: HTMLElement | null }): { width: number; height: number } {
  const [room, setRoom] = useState({ width: innerWidth, height: innerHeight - 220 });
  useEffect(() => {
    if (!ref.current || typeof ResizeObserver === "undefined") return;
    const watch = new ResizeObserver(([entry]) => entry && setRoom({ width: entry.contentRect.width, height: entry.contentRect.height }));
    watch.observe(ref.current);
    return () => watch.disconnect();
  }, []);
  return room;
}
