/** The rows of a long list, requested in pages as they become visible. Old rows stay until the new answer arrives. */
import { signal } from "@preact/signals";
import type { PageOf } from "../../api/types";

export const SIZE = 100;
const MOST = 80;

export class Pages<T> {
  /** Counts up when rows arrive. */
  readonly version = signal(0);
  total: number | null = null;
  /** Why there is no list; if one page fails while others are loaded, its rows just stay empty. */
  error: unknown = null;
  private pages = new Map<number, { items: T[]; fresh: boolean }>();
  private asked = new Set<number>();
  private round = 0;

  constructor(private readonly ask: (begin: number, end: number) => Promise<PageOf<T>>) {}

  row(index: number): T | undefined {
    return this.pages.get(Math.floor(index / SIZE))?.items[index % SIZE];
  }

  /** Requests the missing rows of begin … end-1. */
  need(begin: number, end: number): void {
    const last = Math.floor(Math.max(begin, end - 1) / SIZE);
    for (let page = Math.floor(begin / SIZE); page <= last; page++) {
      if (!this.pages.get(page)?.fresh && !this.asked.has(page)) void this.load(page);
    }
  }

  /** The list may have changed: requests rows again as they become visible. */
  refresh(): void {
    this.round += 1;
    this.asked.clear();
    for (const page of this.pages.values()) page.fresh = false;
  }

  /** The index of a row among the loaded ones. */
  find(test: (row: T) => boolean): number {
    for (const [page, { items }] of this.pages) {
      const at = items.findIndex(test);
      if (at >= 0) return page * SIZE + at;
    }
    return -1;
  }

  private async load(page: number): Promise<void> {
    const round = this.round;
    this.asked.add(page);
    try {
      const answer = await this.ask(page * SIZE, (page + 1) * SIZE);
      if (round === this.round) this.take(page, answer);
    } catch (error) {
      if (round !== this.round || this.total !== null) return;
      this.error = error;
      this.version.value += 1;
    }
  }

  private take(page: number, answer: PageOf<T>): void {
    this.asked.delete(page);
    this.pages.delete(page);
    this.pages.set(page, { items: answer.items, fresh: true });
    if (this.pages.size > MOST) this.pages.delete(this.pages.keys().next().value as number);
    this.total = answer.total;
    this.error = null;
    this.version.value += 1;
  }
}
