/**
 * The visible rows of a long list. Rows have one height, so this is arithmetic. A list library measures and keeps every row, and makes
 * the element as high as all rows, which no browser can draw for 1,000,000 of them (Firefox ends at 17.8 million pixels).
 */
export interface Sight {
  /** First and one past the last row to draw. */
  begin: number;
  end: number;
  /** The height of the scrolled content. */
  height: number;
  /** The position of row `begin` in it. */
  top: number;
}

const HIGHEST = 16_000_000;
const EXTRA = 8;

export function sight(scrollTop: number, viewport: number, count: number, row: number): Sight {
  const height = Math.min(count * row, HIGHEST);
  const at = scrolled(scrollTop, viewport, count, row);
  const begin = Math.max(0, Math.floor(at / row) - EXTRA);
  const end = Math.min(count, Math.ceil((at + viewport) / row) + EXTRA);
  return { begin, end, height, top: begin * row - at + scrollTop };
}

/** The scrollTop that shows a row: unchanged if it is visible; else in the middle, or at the edge for a step by key. */
export function scrollTo(index: number, scrollTop: number, viewport: number, count: number, row: number, edge = false): number {
  const at = scrolled(scrollTop, viewport, count, row);
  const y = index * row;
  if (y >= at && y + row <= at + viewport) return scrollTop;
  const near = y < at ? y : y + row - viewport;
  const wanted = edge ? near : y - (viewport - row) / 2;
  return Math.max(0, wanted) / scale(viewport, count, row);
}

/** The scroll offset if all rows were drawn. */
function scrolled(scrollTop: number, viewport: number, count: number, row: number): number {
  const most = Math.max(0, count * row - viewport);
  return Math.min(most, Math.max(0, scrollTop * scale(viewport, count, row)));
}

function scale(viewport: number, count: number, row: number): number {
  const full = count * row;
  return full <= HIGHEST ? 1 : (full - viewport) / (HIGHEST - viewport);
}
