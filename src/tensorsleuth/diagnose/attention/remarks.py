"""What is remarkable about the attention of a process: what its heads show, and what `sleuth why` says of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tensorsleuth.analyze.attention.heads import judge
from tensorsleuth.analyze.attention.remark import ERROR, NOTE, Remark
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.attention.attention_graph import line_of
from tensorsleuth.diagnose.attention.heads import heads_mixed, missing_scale, saturated_attention, softmax_axis
from tensorsleuth.diagnose.attention.masks import (
    attention_mask,
    mask_multiplied,
    masked_rows,
    no_causal_mask,
    padding_unmasked,
)
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Habit
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside

FINDS: tuple[Callable[[ProcessTrace], Iterator[Habit]], ...] = (
    attention_mask.find,
    heads_mixed.find,
    mask_multiplied.find,
    masked_rows.find,
    missing_scale.find,
    no_causal_mask.find,
    padding_unmasked.find,
    saturated_attention.find,
    softmax_axis.find,
)
OF_PADDING = frozenset(
    [
        "mask-inverted", "mask-multiplied", "mask-of-queries", "mask-open", "no-causal-mask", "padding-unmasked",
        "token-dtype", "token-shape",
    ]
)  # fmt: skip
# What a head shows that a cause explains: it is not said twice.
EXPLAINED = {
    "looks-ahead": frozenset(["mask-multiplied", "no-causal-mask"]),
    "off-sum": frozenset(["softmax-axis"]),
    "on-padding": OF_PADDING,
}


def remarks_of(inside: Inside) -> list[Remark]:
    """Worst first."""
    process, seen = inside.process, inside.attention
    found = [habit for find in FINDS for habit in find(process)] if process is not None else []
    causes = [(one, habit) for one in seen for habit in found if one.op in habit.about]
    known = {(one.name, habit.cause) for one, habit in causes}
    heads = [one for one in judge(seen, inside.inputs) if not _is_explained(one, known)]
    return sorted([*_remarks(causes), *heads], key=lambda remark: remark.severity != ERROR)


def lines_of(inside: Inside) -> dict[str, Frame]:
    """Of each attention by name, the line to look at."""
    training = inside.process.once(Training) if inside.process is not None else None
    lines = ((one.name, line_of(training, one)) for one in inside.attention if training is not None)
    return {name: line for name, line in lines if line is not None}


def _is_explained(remark: Remark, known: set[tuple[str, str]]) -> bool:
    return any((remark.layer, cause) in known for cause in EXPLAINED.get(remark.what, ()))


def _remarks(causes: list[tuple[Attention, Habit]]) -> Iterator[Remark]:
    """What is said of one attention is not said again of the next."""
    told: dict[tuple[str, Frame | None], str] = {}
    for one, habit in causes:
        first = told.setdefault((habit.cause, habit.frame), one.name)
        yield _remark(one, habit, None if first == one.name else first)


def _remark(one: Attention, habit: Habit, as_of: str | None) -> Remark:
    frame = habit.frame
    place = f"{os.path.basename(frame.file)}:{frame.line}" if frame is not None else "a line that is not known"
    why = habit.why.replace(f" ({one.name})", "")
    words, heads = f"{place} {why}." if as_of is None else f"as {as_of}, {place}.", tuple(range(one.heads))
    severity, step = NOTE if habit.is_note else ERROR, habit.step
    file, line = (frame.file, frame.line) if frame is not None else (one.file, one.line)
    return Remark(habit.cause, severity, one.name, heads, one.heads, words, step, {}, file, line)
