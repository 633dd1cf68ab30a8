/** Edges as SVG paths. */
export interface Point {
  x: number;
  y: number;
}
interface Box extends Point {
  width: number;
  height: number;
}

const round = (value: number): number => Math.round(value * 10) / 10;
const at = ({ x, y }: Point): string => `${round(x)},${round(y)}`;

/** Down through the points that the layout found, from the lower side of one box to the upper side of the other. */
export function edgePath(points: readonly Point[], from: Box, to: Box): string {
  const inner = points.slice(1, -1);
  const begin = { x: clamp(points[0]!.x, from), y: from.y + from.height };
  const end = { x: clamp(points[points.length - 1]!.x, to), y: to.y };
  const all = [begin, ...inner.filter((point) => point.y > begin.y && point.y < end.y), end];
  return `M${at(begin)}${all.slice(1).map((point, index) => bend(all[index]!, point)).join("")}`;
}

/** Leaves and arrives upright. */
function bend(one: Point, other: Point): string {
  const middle = (one.y + other.y) / 2;
  return `C${at({ x: one.x, y: middle })} ${at({ x: other.x, y: middle })} ${at(other)}`;
}

const clamp = (x: number, box: Box): number => Math.min(Math.max(x, box.x + 8), box.x + box.width - 8);

/** A loop's next iteration: out at the right side, up, and in at the right side of what takes it. */
export function backPath(from: Box, to: Box): string {
  const begin = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x + to.width, y: to.y + to.height / 2 };
  const out = Math.max(begin.x, end.x) + Math.min(36 + Math.abs(begin.y - end.y) * 0.18, 120);
  return `M${at(begin)}C${at({ x: out, y: begin.y })} ${at({ x: out, y: end.y })} ${at(end)}`;
}
