/** What the keys do. */
import { useEffect, useRef } from "preact/hooks";
import { allKeys, helpOpen } from "../state/keys";

const SIGNS: Record<string, string> = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };

export function Help() {
  return helpOpen.value ? <Overlay /> : null;
}

function Overlay() {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal?.();
  }, []);
  const close = (): void => void (helpOpen.value = false);
  return (
    <dialog class="help" ref={ref} aria-labelledby="help-title" onClose={close} onClick={(event) => event.target === ref.current && close()}>
      <div class="help-inner">
        <header class="help-head">
          <h2 id="help-title">Keyboard</h2>
          <button onClick={close}>Close</button>
        </header>
        <dl class="help-keys">
          {allKeys().map((key) => (
            <div key={key.what} class="help-key">
              <dt>
                {key.keys.map((name) => (
                  <kbd key={name}>{SIGNS[name] ?? name}</kbd>
                ))}
              </dt>
              <dd>{key.what}</dd>
            </div>
          ))}
        </dl>
        <p class="quiet">The page's address holds the run, the tensor, panels and filters: send it to a colleague who has the run.</p>
      </div>
    </dialog>
  );
}
