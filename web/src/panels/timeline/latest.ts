/** Asks only the latest of many questions, once they stop coming; one that was overtaken is aborted and never answered. */
import { get, RequestFailed, type Params } from "../../api/client";

export class Latest<T> {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private current: AbortController | undefined;

  constructor(
    private readonly use: (answer: T) => void,
    private readonly fail: (error: RequestFailed) => void,
  ) {}

  ask(path: string, params: Params, pause: number): void {
    this.stop();
    this.timer = setTimeout(() => void this.send(path, params), pause);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.current?.abort();
    this.current = undefined;
  }

  private async send(path: string, params: Params): Promise<void> {
    const mine = (this.current = new AbortController());
    try {
      const answer = await get<T>(path, params, mine.signal);
      if (!mine.signal.aborted) this.use(answer);
    } catch (error) {
      if (!mine.signal.aborted) this.fail(error instanceof RequestFailed ? error : new RequestFailed(String(error), null, 0));
    }
  }
}
