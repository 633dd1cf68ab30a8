/** The lanes to draw, and their positions: steps on top, then a row for each lane; many of a kind form a group that opens. */
import { type Lane, merged } from "./bins";

export interface Row {
  id: string;
  name: string;
  lane: Lane;
  members: number; // the number of lanes of a group
  open: boolean | null; // null: not a group
  depth: number;
  top: number;
  height: number;
}

export const MANY = 6; // above this number, lanes of one kind start as a closed group
const KINDS = { worker: "workers", device: "devices", thread: "threads" } as const;

/** `turned`: ids of groups that the user opened or closed against their default. */
export function rows(lanes: readonly Lane[], turned: ReadonlySet<string>, height: number): Row[] {
  const found: Omit<Row, "top" | "height">[] = [];
  for (const kind of ["worker", "device", "thread"] as const) {
    const of = lanes.filter((lane) => lane.kind === kind);
    found.push(...(of.length > MANY ? group(of, KINDS[kind], turned) : of.map((lane) => plain(lane, 0))));
  }
  return found.map((row, at) => ({ ...row, top: at * height, height }));
}

function group(lanes: readonly Lane[], kind: string, turned: ReadonlySet<string>): Omit<Row, "top" | "height">[] {
  const open = turned.has(kind);
  const head = { id: kind, name: `${lanes.length} ${kind}`, lane: merged(lanes, kind, kind), members: lanes.length, open, depth: 0 };
  return open ? [head, ...lanes.map((lane) => plain(lane, 1))] : [head];
}

const plain = (lane: Lane, depth: number): Omit<Row, "top" | "height"> => ({ id: lane.id, name: lane.name, lane, members: 1, open: null, depth });

export const rowAt = (all: readonly Row[], y: number): Row | null => all.find((row) => y >= row.top && y < row.top + row.height) ?? null;
