"""A softmax of attention scores over another axis than that of the keys: the weights of a query do not sum to one."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis, Evidence
from tensorsleuth.diagnose.attention.attention_graph import Attending, Taking, attention_of
from tensorsleuth.diagnose.graph.shapes import SizesOf
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    wrong = (one for one in attention_of(training) if not any(taking.is_right for taking in one.products))
    yield from once_a_line(_finding(training, one, training.frame(one.softmax)) for one in wrong)


RULE = Rule(id="softmax-axis", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _finding(training: Training, one: Attending, frame: Frame | None) -> RuleFinding:
    layer, taking = training.layer(one.softmax), one.products[0]
    site = training.around.site(taking.spot)
    line = f" in line {site.frame.line}" if site is not None and site.frame is not None else ""
    rank = _rank(training, one)
    along, summed = _axis(taking, taking.one, rank), _axis(taking, taking.summed, rank)
    why = (
        f"takes the softmax of attention scores{f' ({layer})' if layer else ''} along {along}, "
        f"and the product{line} sums the weights along {summed}: a query's weights do not "
        "sum to one, keys do not compete, and the output grows with the number of keys"
    )
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_KEYS,
        frame=frame,
        op="Softmax",
        evidence=tuple(_evidence(training, one)),
        about=(one.name,),
    )


def _rank(training: Training, one: Attending) -> int:
    """Return the rank of the weights; 0 if it is not known."""
    return len(training.process.once(SizesOf).at(one.softmax).of(one.softmax.node) or ())


def _axis(taking: Taking, axis: int, rank: int) -> str:
    """`axis 2 (queries)`"""
    others = "heads" if rank + axis > 0 else "batch"
    what = "keys" if axis == taking.summed else "queries" if axis == taking.queries else others
    return f"axis {axis + rank if rank else axis} ({what})"


def _evidence(training: Training, one: Attending) -> Iterator[Evidence]:
    spots = {"in": one.scores, "out": one.products[0].spot}
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
