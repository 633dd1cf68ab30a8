"""How many examples property tests try: `make test` a fifth of them, `make test-all` all of them."""

from __future__ import annotations

import os

THOROUGH = "SLEUTH_THOROUGH"  # set by `make test-all`
FEWEST = 10


def examples(count: int) -> int:
    """Return how many of the examples of a thorough run to try."""
    return count if os.environ.get(THOROUGH) else min(count, max(count // 5, FEWEST))
