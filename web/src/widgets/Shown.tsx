/** Shows an answer: grey lines while it loads, the error, or the content. */
import type { ComponentChildren } from "preact";
import { ErrorBox } from "./ErrorBox";
import { Loading } from "./Loading";
import type { Answer } from "./useAnswer";

export function Shown<T>({ answer, lines, children }: { answer: Answer<T>; lines?: number; children: (value: T) => ComponentChildren }) {
  if (answer.error) return <ErrorBox error={answer.error} />;
  if (answer.value === null) return answer.loading ? <Loading lines={lines ?? 3} /> : null;
  return <>{children(answer.value)}</>;
}
