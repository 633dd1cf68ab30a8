/** Says why there is nothing here, and what to do about it. */
import type { ComponentChildren } from "preact";

interface Props {
  title: string;
  children?: ComponentChildren;
  /** A command to type, shown as such. */
  command?: string;
}

export function Empty({ title, children, command }: Props) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <p class="empty-text">{children}</p>}
      {command !== undefined && <code class="command">{command}</code>}
    </div>
  );
}
