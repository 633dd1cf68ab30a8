/** The border between two neighbours: drag it, or move it with the arrow keys. */
interface Props {
  upright: boolean;
  label: string;
  /** As a share of the room of both neighbours. */
  onMove: (by: number) => void;
}

const STEP = 0.04;

export function Splitter({ upright, label, onMove }: Props) {
  const drag = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    bar.setPointerCapture(event.pointerId);
    let last = upright ? event.clientX : event.clientY;
    bar.onpointermove = (moved) => {
      const now = upright ? moved.clientX : moved.clientY;
      onMove((now - last) / room(bar, upright));
      last = now;
    };
    bar.onpointerup = () => void (bar.onpointermove = null);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(by);
  };
  return (
    <div
      class={`splitter ${upright ? "splitter-upright" : "splitter-level"}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={upright ? "vertical" : "horizontal"}
      onPointerDown={drag}
      onKeyDown={press}
    />
  );
}

/** The pixels of the two neighbours together. */
function room(bar: HTMLElement, upright: boolean): number {
  const sizes = [bar.previousElementSibling, bar.nextElementSibling].map((element) => element?.getBoundingClientRect());
  const sum = sizes.reduce((all, box) => all + ((upright ? box?.width : box?.height) ?? 0), 0);
  return Math.max(1, sum);
}
