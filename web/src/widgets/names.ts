/** Short names of layers: the common part is stated once, and scopes are abbreviated so that names stay unique. */
import { shorten } from "./shorten";

/** The scopes that all names begin with, "model/encoder"; "" if there are none, or only one name. */
export function sharedScopes(names: string[]): string {
  if (names.length < 2) return "";
  const scopes = names.map((name) => name.split("/").slice(0, -1));
  const first = scopes[0]!;
  const many = first.findIndex((scope, at) => scopes.some((other) => other[at] !== scope));
  return first.slice(0, many < 0 ? first.length : many).join("/");
}

export function withoutScopes(name: string, scopes: string): string {
  return scopes && name.startsWith(`${scopes}/`) ? name.slice(scopes.length + 1) : name;
}

/** "b/e/layer_0/a/self/query": shortens scopes without a number from the left, then those with one, then letters in the middle. */
export function abbreviated(name: string, most: number): string {
  const scopes = name.split("/");
  const inner = scopes.slice(0, -1).map((_, at) => at);
  const order = [...inner.filter((at) => !numberOf(scopes[at]!)), ...inner.filter((at) => numberOf(scopes[at]!))];
  for (const at of order) {
    if (scopes.join("/").length <= most) break;
    scopes[at] = scopes[at]!.slice(0, 1) + numberOf(scopes[at]!);
  }
  return shorten(scopes.join("/"), most);
}

/** The number at the end: "_12", "3"; "" if there is none. */
function numberOf(scope: string): string {
  return /_?\d+$/.exec(scope)?.[0] ?? "";
}
