/** The list's rows for the filters of the address, and the index of the tensor in focus. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, query, RequestFailed } from "../../api/client";
import { returns } from "../../api/reach";
import type { TensorRow } from "../../api/types";
import { drifting } from "../../state/address";
import { focus } from "../../state/focus";
import { ofRun } from "../../state/name";
import { cursor } from "../../state/run";
import { useDelayed } from "../../widgets/useDelayed";
import { params } from "./filters";
import { Pages } from "./pages";

export interface List {
  pages: Pages<TensorRow>;
  error: RequestFailed | null;
  /** Changes with the run, the filters and the order. */
  key: string;
  /** Whether these are the filters of the address, which may be ahead by a moment. */
  settled: boolean;
  /** The row in focus; -1: filtered out; null: none, or unknown yet. */
  at: number | null;
}

/** Without a run there is nothing to request. */
const never = new Promise<never>(() => undefined);

export function useList(): List {
  const asked = useDelayed(params.value, drifting() ? 120 : 0);
  const path = ofRun("tensors");
  const key = `${path}${query(asked)}`;
  const pages = useMemo(() => new Pages<TensorRow>((begin, end) => (path === null ? never : get(path, { ...asked, begin, end }))), [key]);
  void pages.version.value;
  useRefresh(pages, path !== null);
  const settled = asked === params.value;
  const at = usePlace(pages, settled ? path : null, asked, key);
  return { pages, key, at, settled, error: pages.error === null ? null : pages.error instanceof RequestFailed ? pages.error : new RequestFailed(String(pages.error), null, 0) };
}

/** Requests the first rows at once, before the list is drawn without them, and all again when the program continues. */
function useRefresh(pages: Pages<TensorRow>, on: boolean): void {
  const moment = `${cursor.value} ${returns.value}`;
  const before = useRef({ pages, moment });
  useLayoutEffect(() => {
    if (!on) return;
    if (before.current.pages === pages && before.current.moment !== moment) pages.refresh();
    before.current = { pages, moment };
    pages.need(0, 1);
  }, [pages, moment, on]);
}

function usePlace(pages: Pages<TensorRow>, path: string | null, asked: typeof params.value, key: string): number | null {
  const id = focus.value;
  const [place, setPlace] = useState<{ of: string; at: number } | null>(null);
  const of = `${id} ${key}`;
  useLayoutEffect(() => {
    if (id === null || path === null || pages.find((row) => row.id === id) >= 0) return;
    if (query(asked) === "") pages.need(likely(id), likely(id) + 1);
    let current = true;
    get<{ index: number }>(`${path}/at`, { ...asked, id }).then(
      (answer) => current && setPlace({ of, at: answer.index }),
      () => undefined,
    );
    return () => void (current = false);
  }, [of, path]);
  const here = id === null ? -1 : pages.find((row) => row.id === id);
  return here >= 0 ? here : place?.of === of ? place.at : null;
}

/** With one process and in the order of time, the number of a tensor is its index, so its page is requested before the server confirms it. */
function likely(id: string): number {
  return Number(id.split(".")[1]);
}
