/** Colours of a heat map: blue below 0, amber above, distinguishable with all kinds of colour vision; the middle is the background's grey. */
export type Rgb = readonly [number, number, number];

export interface Ends {
  low: Rgb[]; // from the middle outwards
  high: Rgb[];
  middle: Rgb;
}

export const DARK: Ends = { middle: [38, 42, 49], low: [[45, 92, 150], [120, 183, 255]], high: [[140, 96, 24], [255, 205, 92]] };
export const LIGHT: Ends = { middle: [243, 244, 246], low: [[133, 178, 230], [18, 72, 148]], high: [[240, 190, 90], [138, 74, 0]] };

/** The distance of a value from 0, relative to the largest: -1 … 1. If all have one sign, the scale spans their range. */
export interface Range {
  low: number;
  high: number;
  pivot: number; // drawn in the middle's colour
}

export function range(low: number | null, high: number | null): Range {
  if (low === null || high === null) return { low: 0, high: 0, pivot: 0 };
  const far = Math.max(Math.abs(low), Math.abs(high));
  const pivot = low < 0 && high > 0 ? 0 : low >= 0 ? (low > far / 2 ? low : 0) : high < -far / 2 ? high : 0;
  return { low, high, pivot };
}

export function position(value: number, { low, high, pivot }: Range): number {
  const reach = Math.max(high - pivot, pivot - low);
  return reach > 0 ? Math.min(Math.max((value - pivot) / reach, -1), 1) : 0;
}

/** The colour at -1 … 1. */
export function colour(at: number, ends: Ends): Rgb {
  const stops = [ends.middle, ...(at < 0 ? ends.low : ends.high)];
  const place = Math.min(Math.abs(at), 1) * (stops.length - 1);
  const below = Math.min(Math.floor(place), stops.length - 2);
  return mix(stops[below]!, stops[below + 1]!, place - below);
}

function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const at = (channel: 0 | 1 | 2): number => Math.round(one[channel] + (other[channel] - one[channel]) * share);
  return [at(0), at(1), at(2)];
}

export const css = ([red, green, blue]: Rgb): string => `rgb(${red} ${green} ${blue})`;

/** The contrast as WCAG defines it, 1 … 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dim, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (bright + 0.05) / (dim + 0.05);
}

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
