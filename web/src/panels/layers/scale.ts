/** The colour of a number: by its logarithm; shares linearly; negative numbers on the other side of the scale. */
import type { Measure } from "../../api/inside";
import { SHARES } from "./words";

export interface Scale {
  log: boolean;
  low: number; // the smallest size with its own colour; 0 for a share
  high: number;
  signed: boolean;
}

const DECADES = 12; // smaller numbers all have the same colour
const FAINTEST = 0.08; // distinguishes the smallest from 0

export function scaleOf(measure: Measure, cells: Float32Array): Scale {
  if (SHARES.includes(measure)) return { log: false, low: 0, high: 1, signed: false };
  const sizes = cells.filter((one) => Number.isFinite(one) && one !== 0).map(Math.abs);
  const high = sizes.reduce((most, one) => Math.max(most, one), 0);
  const low = sizes.reduce((least, one) => Math.min(least, one), high);
  return { log: true, low: Math.max(low, high * 10 ** -DECADES), high, signed: cells.some((one) => one < 0) };
}

/** -1 … 1, as `colour` of the heat maps takes it. */
export function position(value: number, { log, low, high }: Scale): number {
  if (!log) return Math.min(Math.max(value, 0), 1);
  const size = Math.abs(value);
  if (size === 0) return 0;
  const share = high > low ? (Math.log(size) - Math.log(low)) / (Math.log(high) - Math.log(low)) : 1;
  return Math.sign(value) * (FAINTEST + (1 - FAINTEST) * Math.min(Math.max(share, 0), 1));
}

/** The numbers that a legend shows, from the smallest to the largest; 0 alone if there is no other. */
export function marks({ log, low, high, signed }: Scale, count: number): number[] {
  if (high === 0) return [0];
  const up = Array.from({ length: count }, (_, at) => (log ? low * (high / low) ** (at / (count - 1)) : (at / (count - 1)) * high));
  return signed ? [...up.map((one) => -one).reverse(), ...up] : up;
}
