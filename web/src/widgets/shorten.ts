/** A long name, cut in the middle: what it belongs to and what it is stay. */
export function shorten(name: string, most: number): string {
  if (name.length <= most) return name;
  const tail = Math.ceil((most - 1) * 0.6);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(name.length - tail)}`;
}
