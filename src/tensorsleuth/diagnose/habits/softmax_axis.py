"""A softmax of attention scores over another axis than that of the keys: the weights of a query do not sum to one."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.attending import Attending, attention_of
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.training import Training
from tensorsleuth.model.catalog import Frame
from tensorsleuth.model.finding import Evidence
from tensorsleuth.trace.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[Habit]:
    training = process.once(Training)
    told: set[Frame | None] = set()
    for one in attention_of(training):
        frame = training.frame(one.softmax)
        if not any(right for _, right in one.products) and frame not in told:
            told.add(frame)
            yield _habit(training, one, frame)


def _habit(training: Training, one: Attending, frame: Frame | None) -> Habit:
    layer, product = training.layer(one.softmax), one.products[0][0]
    site = training.around.site(product)
    line = f" in line {site.frame.line}" if site is not None and site.frame is not None else ""
    why = (
        f"takes the softmax of attention scores{f' ({layer})' if layer else ''} along one axis, and the product{line} "
        "sums the weights along another: a query's weights do not sum to one, keys compete for nothing, and what "
        "comes out grows with the number of keys"
    )
    evidence = tuple(_evidence(training, one))
    return Habit("softmax-axis", 0.93, why, _KEYS, frame, "Softmax", 0.0, False, None, evidence, is_wrong=True)


def _evidence(training: Training, one: Attending) -> Iterator[Evidence]:
    spots = {"in": one.scores, "out": one.products[0][0]}
    rows = training.rows(spots.values())
    for role, spot in spots.items():
        shape = training.process.shape_of(rows[spot][0]) if spot in rows else None
        site = training.around.site(spot)
        line = f"{site.frame.file}:{site.frame.line}" if site is not None and site.frame is not None else None
        yield Evidence(role, spot.type, spot.type, "", shape, "", line)


_KEYS = (
    "take the softmax along the axis of the keys, which the product with the values sums over: the last one of "
    "[batch, heads, queries, keys], axis=-1"
)
