"""Ids in a dtype that cannot hold every row number of their table: they are rounded or wrap around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.violation import MAX_SHOWN_VALUES, ValueNote, Violation
from tensorsleuth.diagnose.inputs.input_parts import InputPart
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import RepeatedViolation
from tensorsleuth.diagnose.inputs.token_wording import token_finding
from tensorsleuth.diagnose.inputs.tokens.integer_range import cast_integers
from tensorsleuth.diagnose.inputs.tokens.narrow_ids import INTEGER_KINDS, NarrowIds, NarrowLookup
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace

FILL_ID = -1  # some fill up with it: no sign of an id that was too large
MIN_ROW_FACTOR = 2  # times the rows that a type can name: bytes have a few special tokens beside them


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    narrow, given = process.cached(NarrowIds), process.cached(ModelInputs)
    yield from merge_same_line(finding for one in narrow.all for finding in _judge(given, narrow, one))


RULE = Rule(id="token-dtype", severity=Severity.WRONG, find=find, about_samples=True)


def _judge(model_inputs: ModelInputs, narrow: NarrowIds, one: NarrowLookup) -> Iterator[RuleFinding]:
    part = one.kept_ids
    name = program_input_name(part.series.name) if part is not None else "ids"
    top = narrow.largest_id(one) if part is None else None
    found = _changed(one, part, name) if part is not None else _too_large(one, name, top)
    if found is None and (one.type.kind not in INTEGER_KINDS or one.rows > MIN_ROW_FACTOR * (one.last_exact + 1)):
        found = RepeatedViolation(replace(_violation(one, name, _range_words(one, top)), severity="note"), 1, 1, 0)
    if found is not None:
        frame, does = _place(model_inputs, one, name)
        yield token_finding(found, does, frame, one.gather.type)


def _changed(one: NarrowLookup, input_part: InputPart, name: str) -> RepeatedViolation | None:
    """Return the kept ids that became others."""
    kept = input_part.values()
    wrong = {step: violation for step, ids in kept.items() if (violation := _of_batch(one, name, ids)) is not None}
    first = min(wrong, default=None)
    return RepeatedViolation(wrong[first], len(wrong), len(kept), first) if first is not None else None


def _of_batch(one: NarrowLookup, name: str, ids: Array) -> Violation | None:
    if one.cast_op is None:  # they have started over before they came in: what is below 0 was too large
        others, became = ids < FILL_ID, ids
    else:
        became = cast_integers(one.dtype, ids)
        others = became != ids
    places = [tuple(int(at) for at in place) for place in np.argwhere(others)[:MAX_SHOWN_VALUES]]
    pairs = ((int(ids[place]), int(became[place])) for place in places)
    values = tuple(was if was == now else ValueNote(f"{was} → {now}") for was, now in pairs)
    does = "ids below 0 in" if one.cast_op is None else "ids that become others in"
    counted = int(others.sum()), int(ids.size), tuple(places), values
    return _violation(one, name, f"{does} {_limit_words(one)}", *counted) if places else None


def _too_large(one: NarrowLookup, name: str, top: float | None) -> RepeatedViolation | None:
    """Return the violation of float ids that are too large: the trace has their range, not their values."""
    wrong = top is not None and top > one.last_exact
    return (
        RepeatedViolation(_violation(one, name, f"{_limit_words(one)}, and ids up to {top:,.0f}"), 1, 1, 0)
        if wrong
        else None
    )


def _range_words(one: NarrowLookup, top: float | None) -> str:
    seen = f"; ids up to {top:,.0f} were seen" if top is not None else ""
    return f"{_limit_words(one)}: larger ids would become others{seen}"


def _limit_words(one: NarrowLookup) -> str:
    return (
        f"{one.type.name}, which {'ends at' if one.type.kind in INTEGER_KINDS else 'is exact up to'} {one.last_exact:,}"
    )


def _violation(
    one: NarrowLookup, name: str, found: str, broken: int | None = None, total: int | None = None,
    places: tuple[tuple[int, ...], ...] = (), values: tuple[object, ...] = (),
) -> Violation:  # fmt: skip
    change = _WIDER if one.type.kind in INTEGER_KINDS else _WHOLE
    expected = f"a type that has every id up to {one.rows - 1:,}"
    return Violation("token-dtype", name, expected, found, broken, total, places, values, change)


def _place(model_inputs: ModelInputs, one: NarrowLookup, name: str) -> tuple[Frame | None, str]:
    """Return the line that casts them, unless that is the whole model's; else the line that passes them in."""
    site = model_inputs.training.neighbours.site(one.cast_op) if one.cast_op is not None else None
    frame = site.frame if site is not None else None
    looked_up = f"which are looked up in {one.table} ({one.rows:,} rows)"
    if frame is not None and not model_inputs.training.is_keras_loop(frame):
        return frame, f"makes {one.type.name} of {name}, {looked_up}"
    return model_inputs.entry(one.gather), f"is given {name}, {looked_up}"


_WIDER = "keep ids in int32: larger ones have started over and are others, without an error"
_WHOLE = (
    "keep ids integers all the way: ids.astype('int32'), and Input(…, dtype='int32'). Keras makes floats of what "
    "goes into an Input without a dtype, and floats the type of the policy (mixed precision) before each layer"
)
