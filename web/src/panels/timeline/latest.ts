/** Sends only the latest of many requests, once they stop coming; an outdated request is aborted and never answered. */
import { get, query, RequestFailed, type Params } from "../../api/client";

export class Latest<T> {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private current: AbortController | undefined;
  private question: string | undefined; // the waiting or running request
  private again = false;

  constructor(
    private readonly use: (answer: T) => void,
    private readonly fail: (error: RequestFailed) => void,
  ) {}

  /** A repeated request, as while a program runs, waits for its answer: otherwise none would ever arrive. */
  ask(path: string, params: Params, pause: number): void {
    const question = path + query(params);
    if (question === this.question) {
      this.again = this.current !== undefined;
      return;
    }
    this.stop();
    this.question = question;
    this.timer = setTimeout(() => void this.send(path, params, pause), pause);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.current?.abort();
    this.current = this.question = undefined;
    this.again = false;
  }

  private async send(path: string, params: Params, pause: number): Promise<void> {
    const mine = (this.current = new AbortController());
    try {
      const answer = await get<T>(path, params, mine.signal);
      if (!mine.signal.aborted) this.use(answer);
    } catch (error) {
      if (!mine.signal.aborted) this.fail(error instanceof RequestFailed ? error : new RequestFailed(String(error), null, 0));
    }
    if (!mine.signal.aborted) this.done(path, params, pause);
  }

  private done(path: string, params: Params, pause: number): void {
    const again = this.again;
    this.stop();
    if (again) this.ask(path, params, pause);
  }
}
