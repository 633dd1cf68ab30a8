/** Shortens a long name in the middle, so that its beginning and end stay. */
export function shorten(name: string, most: number): string {
  if (name.length <= most) return name;
  const tail = Math.ceil((most - 1) * 0.6);
  return `${name.slice(0, most - 1 - tail)}…${name.slice(name.length - tail)}`;
}
