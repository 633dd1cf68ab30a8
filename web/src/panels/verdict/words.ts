/** A finding in words, as `sleuth why` prints it. */
import type { Finding } from "../../api/types";
import { when } from "../../widgets/format";

/** The summary, with the name of the file only. */
export function headline(finding: Finding): string {
  return finding.file ? finding.summary.replaceAll(finding.file, base(finding.file)) : finding.summary;
}

export function placeOf(finding: Finding): string {
  if (finding.file === null) return `${finding.name ?? finding.op ?? "?"}, from an unknown line`;
  return `${base(finding.file)}:${finding.line}${finding.function ? ` in ${finding.function}` : ""}`;
}

/** When and where else: step, layer, phase, replica, worker. */
export function circumstances(finding: Finding): string[] {
  const loop = finding.iteration ? `iteration ${finding.iteration} of its loop` : null;
  const layer = finding.layer ? `layer ${finding.layer}` : null;
  const op = finding.op && finding.file !== null ? `op ${finding.op}` : null;
  const phase = finding.phase && finding.phase !== "train" ? finding.phase : null;
  const moment = when({ step: finding.step, epoch: finding.epoch, batch: finding.batch });
  return [moment, loop, op, layer, phase, finding.replica, finding.worker].filter((words): words is string => Boolean(words));
}

/** The line of a piece of evidence, unless it is the finding's own. */
export function lineOf(line: string | null, finding: Finding): string {
  if (!line || line === `${finding.file}:${finding.line}`) return "";
  const cut = line.lastIndexOf(":");
  const [file, number] = [line.slice(0, cut), line.slice(cut + 1)];
  return file === finding.file ? `line ${number}` : `${base(file)}:${number}`;
}

/** The line where what the finding's line made is used, with its text. */
export function otherLine(finding: Finding): string | null {
  const other = finding.shown_at;
  if (other === null) return null;
  const where = other.file === finding.file ? `line ${other.line}` : `${base(other.file)}:${other.line}`;
  return other.code === null ? where : `${where}: ${other.code}`;
}

/** A hop in words, without the finding's own file. */
export function hopWords(text: string, finding: Finding): string {
  return finding.file === null ? text : text.replace(`(${base(finding.file)}:`, "(line ");
}

export function base(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
