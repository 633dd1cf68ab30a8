/** The composition of a tensor, as a small bar: −, 0, +, −∞, +∞, NaN. */
import type { Health } from "../api/types";
import { run } from "../state/run";
import { count } from "./format";

export const KINDS = [
  { key: "neg", sign: "−", words: "negative", bad: false },
  { key: "zero", sign: "0", words: "zero", bad: false },
  { key: "pos", sign: "+", words: "positive", bad: false },
  { key: "negInf", sign: "−∞", words: "−∞", bad: true },
  { key: "posInf", sign: "+∞", words: "+∞", bad: true },
  { key: "nan", sign: "NaN", words: "NaN", bad: true },
] as const;

/** Bad parts are never too thin to see. */
const LEAST = 0.06;

export interface Part {
  key: (typeof KINDS)[number]["key"];
  share: number;
}

/** The parts of the bar, which sum to 1; none if the mode does not count. */
export function parts(health: Health): Part[] {
  const counted = KINDS.map((kind) => ({ ...kind, n: Math.max(0, health[kind.key]) })).filter((kind) => kind.n > 0);
  const total = counted.reduce((sum, kind) => sum + kind.n, 0);
  const wide = counted.map((kind) => ({ key: kind.key, share: Math.max(kind.n / total, kind.bad ? LEAST : 0) }));
  const sum = wide.reduce((all, part) => all + part.share, 0);
  return wide.map((part) => ({ key: part.key, share: part.share / sum }));
}

/** "12 −∞, 988 positive"; without counts, only whether it is bad. */
export function inWords(health: Health): string {
  const words = KINDS.filter((kind) => health[kind.key] > 0).map((kind) => `${count(health[kind.key])} ${kind.words}`);
  if (words.length) return words.reverse().join(", ");
  if (health.bad) return "has NaN or infinity";
  if (!looked(health)) return "not recorded";
  return health.nan < 0 ? "no NaN or infinity" : "empty";
}

/** Whether the values were examined; in a run with counts, a tensor without counts was not. */
function looked(health: Health): boolean {
  const records = run.value?.records;
  return health.bad || health.nan >= 0 || (records !== undefined && records.health && !records.counts);
}

export function HealthBar({ health }: { health: Health }) {
  const shown = parts(health);
  const words = inWords(health);
  if (!looked(health)) return <span class="health-unseen" role="img" aria-label={words} title={words} />;
  return (
    <span class={`health${health.bad ? " health-bad" : ""}`} role="img" aria-label={words} title={words}>
      {shown.length === 0 && <span class={health.bad ? "health-part health-nan" : "health-part health-plain"} style={{ flexGrow: 1 }} />}
      {shown.map((part) => (
        <span key={part.key} class={`health-part health-${part.key}`} style={{ flexGrow: part.share }} />
      ))}
    </span>
  );
}
