"""Ids in a type that cannot name every row of their table: they are rounded, or start over, and become others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.violation import SHOWN, Remark, Violation
from tensorsleuth.diagnose.inputs.input_parts import Part, called
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import Held
from tensorsleuth.diagnose.inputs.token_wording import finding_of
from tensorsleuth.diagnose.inputs.tokens.integer_range import cast_to
from tensorsleuth.diagnose.inputs.tokens.narrow_ids import WHOLE, Narrow, NarrowIds
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line
from tensorsleuth.trace.process.process import ProcessTrace

FILL = -1  # some fill up with it: no sign of an id that was too large
FAR_MORE = 2  # times the rows that a type can name: bytes have a few special tokens beside them


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    narrow, given = process.once(NarrowIds), process.once(Given)
    yield from once_a_line(finding for one in narrow.all for finding in _judged(given, narrow, one))


RULE = Rule(id="token-dtype", severity=Severity.WRONG, find=find)


def _judged(given: Given, narrow: NarrowIds, one: Narrow) -> Iterator[RuleFinding]:
    part = one.given
    name = called(part.series.name) if part is not None else "ids"
    top = narrow.largest(one) if part is None else None
    found = _changed(one, part, name) if part is not None else _beyond(one, name, top)
    if found is None and (one.type.kind not in WHOLE or one.rows > FAR_MORE * (one.last + 1)):
        found = Held(replace(_wrong(one, name, _room(one, top)), severity="note"), 1, 1, 0)
    if found is not None:
        frame, does = _place(given, one, name)
        yield finding_of(found, does, frame, one.lookup.type)


def _changed(one: Narrow, part: Part, name: str) -> Held | None:
    """Return the kept ids that became others."""
    kept = part.values()
    wrong = {step: violation for step, ids in kept.items() if (violation := _of_batch(one, name, ids)) is not None}
    first = min(wrong, default=None)
    return Held(wrong[first], len(wrong), len(kept), first) if first is not None else None


def _of_batch(one: Narrow, name: str, ids: Array) -> Violation | None:
    if one.cast is None:  # they have started over before they came in: what is below 0 was too large
        others, became = ids < FILL, ids
    else:
        became = cast_to(one.dtype, ids)
        others = became != ids
    places = [tuple(int(at) for at in place) for place in np.argwhere(others)[:SHOWN]]
    pairs = ((int(ids[place]), int(became[place])) for place in places)
    values = tuple(was if was == now else Remark(f"{was} → {now}") for was, now in pairs)
    does = "ids below 0 in" if one.cast is None else "ids that become others in"
    counted = int(others.sum()), int(ids.size), tuple(places), values
    return _wrong(one, name, f"{does} {_ends(one)}", *counted) if places else None


def _beyond(one: Narrow, name: str, top: float | None) -> Held | None:
    """Floats are not kept: how large they were is known."""
    wrong = top is not None and top > one.last
    return Held(_wrong(one, name, f"{_ends(one)}, and ids up to {top:,.0f}"), 1, 1, 0) if wrong else None


def _room(one: Narrow, top: float | None) -> str:
    seen = f"; ids up to {top:,.0f} were seen" if top is not None else ""
    return f"{_ends(one)}: larger ids would become others{seen}"


def _ends(one: Narrow) -> str:
    return f"{one.type.name}, which {'ends at' if one.type.kind in WHOLE else 'is exact up to'} {one.last:,}"


def _wrong(
    one: Narrow, name: str, found: str, broken: int | None = None, total: int | None = None,
    places: tuple[tuple[int, ...], ...] = (), values: tuple[object, ...] = (),
) -> Violation:  # fmt: skip
    change = _WIDER if one.type.kind in WHOLE else _WHOLE
    expected = f"a type that has every id up to {one.rows - 1:,}"
    return Violation("token-dtype", name, expected, found, broken, total, places, values, change)


def _place(given: Given, one: Narrow, name: str) -> tuple[Frame | None, str]:
    """The line that casts them, where that is not the whole model's; else that which gives them."""
    site = given.training.around.site(one.cast) if one.cast is not None else None
    frame = site.frame if site is not None else None
    looked_up = f"which are looked up in {one.table} ({one.rows:,} rows)"
    if frame is not None and not given.training.is_loop(frame):
        return frame, f"makes {one.type.name} of {name}, {looked_up}"
    return given.entry(one.lookup), f"is given {name}, {looked_up}"


_WIDER = "keep ids in int32: larger ones have started over and are others, without an error"
_WHOLE = (
    "keep ids integers all the way: ids.astype('int32'), and Input(…, dtype='int32'). Keras makes floats of what "
    "goes into an Input without a dtype, and floats the type of the policy (mixed precision) before each layer"
)
