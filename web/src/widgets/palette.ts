/** The theme's colours, as canvas wants them. */
import { colour } from "../state/theme";

const NAMES = ["surface", "raised", "line", "line-strong", "text", "text-2", "text-3", "accent", "bad", "bad-soft", "nan", "neg", "pos", "hover", "mono", "sans"] as const;
export type Palette = Record<(typeof NAMES)[number], string>;

/** Reads the theme's signal, so that callers run again when it changes. */
export function palette(): Palette {
  return Object.fromEntries(NAMES.map((name) => [name, colour(`--${name}`)])) as Palette;
}
