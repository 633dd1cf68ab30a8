import { expect, test, vi } from "vitest";
import type { PageOf } from "../src/api/types";
import { Pages, SIZE } from "../src/panels/tensors/pages";

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

function server(total: () => number) {
  return vi.fn(async (begin: number, end: number): Promise<PageOf<number>> => {
    const last = Math.min(end, total());
    return { begin, end: last, total: total(), items: Array.from({ length: Math.max(0, last - begin) }, (_, n) => begin + n) };
  });
}

test("asks only for pages that are in sight, each once", async () => {
  const ask = server(() => 1_000_000);
  const pages = new Pages(ask);
  pages.need(500_090, 500_130);
  pages.need(500_091, 500_131);
  await settled();
  pages.need(500_095, 500_135);
  await settled();
  expect(ask.mock.calls).toEqual([[500_000, 500_100], [500_100, 500_200]]);
  expect([pages.total, pages.row(500_107), pages.row(3)]).toEqual([1_000_000, 500_107, undefined]);
});

test("a list that grew keeps its rows until the new ones are there", async () => {
  let total = 150;
  const pages = new Pages(server(() => total));
  pages.need(0, 150);
  await settled();
  total = 170;
  pages.refresh();
  expect([pages.row(149), pages.total]).toEqual([149, 150]);
  pages.need(100, 150);
  await settled();
  expect([pages.row(169), pages.total]).toEqual([169, 170]);
});

test("an answer from before the list changed is not taken", async () => {
  let answer: (page: PageOf<number>) => void = () => undefined;
  const pages = new Pages<number>(() => new Promise((resolve) => (answer = resolve)));
  pages.need(0, 1);
  pages.refresh();
  answer({ begin: 0, end: 1, total: 1, items: [7] });
  await settled();
  expect([pages.row(0), pages.total]).toEqual([undefined, null]);
});

test("what went wrong is kept, and gone with the next answer", async () => {
  const ask = vi.fn<(begin: number, end: number) => Promise<PageOf<number>>>().mockRejectedValueOnce(new Error("no")).mockImplementation(server(() => 5));
  const pages = new Pages(ask);
  pages.need(0, 5);
  await settled();
  expect(String(pages.error)).toBe("Error: no");
  pages.refresh();
  pages.need(0, 5);
  await settled();
  expect([pages.error, pages.total]).toEqual([null, 5]);
});

test("does not keep all of 1,000,000 rows", async () => {
  const pages = new Pages(server(() => 1_000_000));
  for (let page = 0; page < 200; page++) pages.need(page * SIZE, page * SIZE + 1);
  await settled();
  expect([pages.row(0), pages.row(199 * SIZE)]).toEqual([undefined, 199 * SIZE]);
  expect(pages.find((row) => row === 199 * SIZE + 5)).toBe(199 * SIZE + 5);
  expect(pages.find((row) => row === 5)).toBe(-1);
});
