/** Every pair of colours that is read is at 4.5:1 or more, in both themes; what only shows where something is, at 3:1. */
import { describe, expect, test } from "vitest";
import css from "../src/style/theme.css?raw";

const GROUNDS = ["--surface", "--raised", "--hover"];
const TINTED = ["--selected", "--tinted"];
const CODE = ["--code-keyword", "--code-name", "--code-string", "--code-number", "--code-comment", "--code-operator"];

const READ: [string, string[]][] = [
  ["--text", [...GROUNDS, ...TINTED, "--bg", "--bad-soft"]],
  ["--text-2", [...GROUNDS, ...TINTED, "--bg", "--bad-soft"]],
  ["--text-3", [...GROUNDS, "--tinted"]],
  ["--accent", [...GROUNDS, ...TINTED]],
  ["--bad", [...GROUNDS, ...TINTED, "--bad-soft", "--bg"]],
  ["--ok", ["--surface"]],
  ["--on-accent", ["--accent"]],
  ...CODE.map((name): [string, string[]] => [name, ["--surface", ...TINTED]]),
];
/** Bars and marks: what is bad stands out from the panel. */
const SEEN: [string, string[]][] = [
  ["--nan", ["--surface"]],
  ["--pos-inf", ["--surface"]],
  ["--neg-inf", ["--surface"]],
  ["--accent", ["--surface", "--bg"]],
  ...[1, 2, 4, 3, 5, 6].map((kind): [string, string[]] => [`--memory-${kind}`, ["--surface"]]),
];

function variables(theme: string): Map<string, string> {
  const block = new RegExp(`data-theme="${theme}"\\]\\s*{([^}]*)}`).exec(css)?.[1] ?? "";
  return new Map([...block.matchAll(/(--[\w-]+):\s*(#[0-9a-f]{6})/g)].map((found) => [found[1] as string, found[2] as string]));
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["dark", "light"])("the %s theme", (theme) => {
  const colours = variables(theme);
  const pairs = (list: [string, string[]][]) => list.flatMap(([ink, grounds]) => grounds.map((ground): [string, string] => [ink, ground]));
  const ratio = (ink: string, ground: string): number => contrast(colours.get(ink) ?? "#777777", colours.get(ground) ?? "#777777");

  test.each(pairs(READ))("%s can be read on %s", (ink, ground) => expect(ratio(ink, ground)).toBeGreaterThanOrEqual(4.5));
  test.each(pairs(SEEN))("%s can be seen on %s", (ink, ground) => expect(ratio(ink, ground)).toBeGreaterThanOrEqual(3));
});

test("both themes set the same colours", () => {
  expect([...variables("dark").keys()]).toEqual([...variables("light").keys()]);
});

test("black on white is 21:1", () => expect(contrast("#000000", "#ffffff")).toBeCloseTo(21));
