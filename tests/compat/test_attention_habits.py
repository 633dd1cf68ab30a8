"""What `sleuth why` says of attention written by hand: the wrong ways are named with their line, the right are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.compat import attention_models as models
from tests.compat.looking import marked_in

import tensorsleuth
from tensorsleuth.diagnose.attention_remarks import remarks_of
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RIGHT = (
    models.scaled, models.alibi, models.relative, models.small_weights, models.cosine, models.cosine_learned,
    models.sharp, models.linear, models.windows, models.more_tokens, models.among_heads, models.among_features,
    models.folded_heads, models.slices, models.time_first,
)  # fmt: skip
WRONG = [
    (models.merged_at_once, 12, False, "heads-mixed", "merged"),
    (models.merged_at_once, 10, False, "heads-mixed", "merged"),  # sizes that do not divide each other
    (models.merged_at_once, 3, False, "heads-mixed", "merged"),  # more heads than positions
    (models.merged_at_once, 12, True, "heads-mixed", "merged"),
    (models.merged_of_equations, 12, False, "heads-mixed", "merged einsum"),
    (models.split_at_once, 12, False, "heads-mixed", "split"),
    (models.split_at_once, 3, False, "heads-mixed", "split"),
    (models.times_root, 12, False, "saturated-attention", "scaled"),
    (models.times_root, 12, True, "saturated-attention", "scaled"),
    (models.times_root_of_shape, 12, False, "saturated-attention", "root of shape"),
    (models.queries_times_root, 12, False, "saturated-attention", "queries"),
]


@pytest.mark.parametrize("read", RIGHT, ids=lambda read: read.__name__)
def test_what_is_right_is_healthy(recorded: Recorded, read: models.Read) -> None:
    found = tensorsleuth.diagnose(recorded(lambda: models.trained(read)))
    assert [(one.cause, one.line) for one in found.findings] == []


@pytest.mark.parametrize(("read", "time", "jit", "cause", "mark"), WRONG)
def test_what_is_wrong_is_named(
    recorded: Recorded, read: models.Read, time: int, jit: bool, cause: str, mark: str
) -> None:
    trace = recorded(lambda: models.trained(read, time, jit))
    found = tensorsleuth.diagnose(trace).findings
    line = marked_in(models.__file__, mark)
    assert [(one.cause, one.line) for one in found] == [(cause, line)]
    told = [(one.what, one.severity, one.line) for one in remarks_of(trace.inside())]
    assert told == [(cause, "error", line)]
