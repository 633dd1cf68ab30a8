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

/** Down through the points of the layout, from the bottom of one box to the top of the other. */
export function edgePath(points: readonly Point[], from: Box, to: Box): string {
  const inner = points.slice(1, -1);
  const begin = { x: clamp(points[0]!.x, from), y: from.y + from.height };
  const end = { x: clamp(points[points.length - 1]!.x, to), y: to.y };
  const all = [begin, ...inner.filter((point) => point.y > begin.y && point.y < end.y), end];
  return all.length === 2 ? `M${at(begin)}${bend(begin, end)}` : `M${at(begin)}${smooth(all)}`;
}

/** Leaves and arrives vertically. */
function bend(one: Point, other: Point): string {
  const half = (one.y + other.y) / 2;
  return `C${at({ x: one.x, y: half })} ${at({ x: other.x, y: half })} ${at(other)}`;
}

/** Smooth through the points between: the curve goes through the midpoints. */
function smooth(all: readonly Point[]): string {
  const last = all.length - 2;
  return all.slice(1, -1).map((point, index) => `Q${at(point)} ${at(index + 1 === last ? all[last + 1]! : middle(point, all[index + 2]!))}`).join("");
}

const middle = (one: Point, other: Point): Point => ({ x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
const clamp = (x: number, box: Box): number => Math.min(Math.max(x, box.x + 8), box.x + box.width - 8);

/** A loop's next iteration: leaves at the right side, goes up, and enters the consumer at its right side. */
export function backPath(from: Box, to: Box): string {
  const begin = { x: from.x + from.width, y: from.y + from.height / 2 };
  const end = { x: to.x + to.width, y: to.y + to.height / 2 };
  const out = Math.max(begin.x, end.x) + Math.min(36 + Math.abs(begin.y - end.y) * 0.18, 120);
  return `M${at(begin)}C${at({ x: out, y: begin.y })} ${at({ x: out, y: end.y })} ${at(end)}`;
}
