/** The visible lines of a file. */
import { useEffect, useRef } from "preact/hooks";
import type { Margin, Source } from "../../api/types";
import { setFocus } from "../../state/focus";
import { count } from "../../widgets/format";
import { useRows } from "../../widgets/useRows";

const LINE = 19;

interface Props {
  source: Source;
  line: number;
  /** Another line to mark: the one that a gradient differentiates. */
  forward: number | null;
}

export function Lines({ source, line, forward }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const rows = useRows(ref, source.lines.length, LINE);
  useEffect(() => {
    if (line > 0) rows.show(line - 1);
  }, [source.file.number, line]);
  const drawn = source.lines.slice(rows.begin, rows.end).map((text, n) => ({ text, number: rows.begin + n + 1 }));
  return (
    <div class="lines" ref={ref} tabIndex={0} role="region" aria-label={`${source.file.name}, line ${line}`}>
      <div class="lines-all" style={{ height: `${rows.height}px`, minWidth: `${longest(source) + 18}ch` }}>
        <div class="lines-drawn" style={{ transform: `translateY(${rows.top}px)` }}>
          {drawn.map(({ text, number }) => (
            <div key={number} class={`line${number === line ? " line-here" : ""}${number === forward && number !== line ? " line-forward" : ""}`} aria-current={number === line ? "true" : undefined}>
              <Mark margin={text.margin} />
              <span class="line-number">{number}</span>
              <code class="line-code" dangerouslySetInnerHTML={{ __html: text.html || " " }} />
              {text.margin && (text.margin.bad > 0 || number === line) && <span class={`line-words${text.margin.bad ? " is-bad" : ""}`}>{text.margin.words}</span>}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The health of the tensors of this line; a click goes to the first bad one. */
function Mark({ margin }: { margin: Margin | null }) {
  if (!margin) return <span class="mark-none" />;
  const words = `${count(margin.tensors)} computed here, ${margin.bad ? `${count(margin.bad)} bad` : "none bad"}: ${margin.words}`;
  return (
    <button class={`plain mark-line${margin.bad ? " mark-line-bad" : ""}`} title={words} aria-label={words} onClick={() => setFocus(margin.firstBad ?? margin.first)}>
      {margin.tensors > 999 ? "999+" : margin.tensors}
    </button>
  );
}

const widths = new WeakMap<Source, number>();
/** In characters: the visible lines change, the width must not. */
function longest(source: Source): number {
  const known = widths.get(source);
  if (known !== undefined) return known;
  const most = source.lines.reduce((most, line) => Math.max(most, line.html.replace(/<[^>]*>/g, "").length), 0);
  widths.set(source, most);
  return most;
}
