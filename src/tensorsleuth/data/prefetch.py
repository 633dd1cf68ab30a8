"""Prepares the next block while the checks read this one. The kernels release Python's lock, so two cores work."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tensorsleuth.data.block import Block


def prefetched(blocks: Iterator[Block], names: tuple[str, ...], hashed: bool) -> Iterator[Block]:
    """Yield the blocks, one ahead, with the health of their pieces and the hashes of their rows."""

    def take() -> Block | None:
        block = next(blocks, None)
        if block is not None:
            _compute_ahead(block, names, hashed)
        return block

    with ThreadPoolExecutor(1, "sleuth-data") as pool:
        coming = pool.submit(take)
        while (block := coming.result()) is not None:
            coming = pool.submit(take)
            yield block


def _compute_ahead(block: Block, names: tuple[str, ...], hashed: bool) -> None:
    for piece in block.pieces.values():
        if piece.numeric:
            piece.health  # noqa: B018 - found once, and kept
    if hashed and block.whole:
        block.hashes(names)
