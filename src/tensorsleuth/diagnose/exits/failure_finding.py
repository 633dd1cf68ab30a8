"""The finding of an error of TensorFlow's that ended the program."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Evidence, Finding
from tensorsleuth.diagnose.exits.failure import (
    DTYPE_MISMATCH,
    INDEX_OUT_OF_RANGE,
    LABEL_OUT_OF_RANGE,
    UNKNOWN_ERROR,
    FatalError,
)
from tensorsleuth.diagnose.exits.indexes.index_story import IndexStory
from tensorsleuth.diagnose.exits.refusals.dtype_story import dtype_story
from tensorsleuth.diagnose.exits.refusals.unfed_placeholder import UnfedPlaceholder
from tensorsleuth.diagnose.exits.shape_story import SHAPE_MISMATCH, ShapeStory, story_of_failure
from tensorsleuth.diagnose.exits.value_text import parse_value_text
from tensorsleuth.diagnose.expressions import marked
from tensorsleuth.diagnose.graph.layer_lines import LayerLines
from tensorsleuth.diagnose.health_words import evidence_of
from tensorsleuth.diagnose.replay_note import describe_replay
from tensorsleuth.diagnose.source_lines import fit_position, source_fields
from tensorsleuth.trace.process.process import ProcessTrace

MAX_EVIDENCE = 6
FOREIGN = 0.7  # the confidence that an index is no id of its table: the table may be far too small instead


def failure_finding(process: ProcessTrace, fatal_error: FatalError) -> Finding:
    story, finding = _shape_story(process, fatal_error), _plain_failure(process, fatal_error)
    unfed = UnfedPlaceholder.of_error(process, fatal_error)
    if unfed is not None:
        where = source_fields(process, unfed.run)
        return replace(finding, summary=unfed.sentence(fatal_error.failure.type), fix=unfed.fix, **where)
    dtypes = dtype_story(process, fatal_error.failure.type, fatal_error.failure.message)
    if dtypes is not None:
        where = source_fields(process, marked(process, dtypes.frame, DTYPE_MISMATCH, fatal_error.op))
        where["layer"] = finding.layer
        finding = replace(finding, confidence=dtypes.confidence, summary=dtypes.sentence, fix=dtypes.fix)
        return replace(finding, evidence=dtypes.evidence, **where)
    if story is None:
        index = _index_story(process, fatal_error)
        return _with_index(process, finding, index) if index is not None else finding
    return replace(
        finding,
        cause=SHAPE_MISMATCH,
        confidence=story.confidence,
        summary=story.sentence,
        fix=story.fix,
        evidence=story.evidence,
        **(source_fields(process, story.frame) | {"layer": finding.layer}),
    )


def _shape_story(process: ProcessTrace, fatal_error: FatalError) -> ShapeStory | None:
    """Return the story of shapes that do not fit, if the error may be about shapes, and they do not."""
    if fatal_error.kind.cause not in (SHAPE_MISMATCH, UNKNOWN_ERROR):
        return None
    story = story_of_failure(process, fatal_error)
    return story if story is not None and story.is_explained else None


def _index_story(process: ProcessTrace, fatal_error: FatalError) -> IndexStory | None:
    is_about_index = fatal_error.kind.cause in (INDEX_OUT_OF_RANGE, LABEL_OUT_OF_RANGE)
    return IndexStory.of_error(process, fatal_error) if is_about_index else None


def _with_index(process: ProcessTrace, finding: Finding, story: IndexStory) -> Finding:
    """Name the index, where it came from and what fits; numbers that are no ids are wrong where they were made."""
    frame = Frame(finding.file, finding.line or 0, finding.function or "?") if finding.file is not None else None
    made = story.origin.line if story.origin is not None else None
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line:"
    raised = f" ({finding.summary.partition(' (')[2].partition(')')[0]})"
    told = replace(finding, summary=f"{where} {finding.op} {story.sentence(frame)}{raised}", fix=story.fix)
    told = replace(told, confidence=FOREIGN) if story.is_foreign else told
    if not (story.counts_from_one or story.is_foreign) or made is None or made == frame:
        return told
    return replace(told, **(source_fields(process, replace(made, shown_at=frame)) | {"layer": finding.layer}))


def _plain_failure(process: ProcessTrace, fatal_error: FatalError) -> Finding:
    frame = fatal_error.site.frame if fatal_error.site is not None else None
    if fatal_error.kind.cause == INDEX_OUT_OF_RANGE and process.catalogue.creations:
        frame = LayerLines(process).line(fatal_error.site, fatal_error.layer, fatal_error.op)
    frame = marked(process, frame, fatal_error.kind.cause, fatal_error.op)
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line:"
    given = tuple(Evidence("in", "argument", "", *parse_value_text(text)) for text in fatal_error.failure.inputs)
    seen = tuple(
        evidence_of("in", one, number)
        for one, number in zip(fatal_error.inputs, fatal_error.event_indexes, strict=True)
    )
    return Finding(
        cause=fatal_error.kind.cause,
        confidence=0.9 if fatal_error.kind.fix else 0.5,
        severity="error",
        summary=f"{where} {fatal_error.op} {fatal_error.words} ({fatal_error.failure.type}): {fatal_error.message}",
        **(source_fields(process, frame) | {"layer": fatal_error.layer}),
        op=fatal_error.op,
        name=fatal_error.name,
        step=fatal_error.step,
        iteration=None,
        fix=fatal_error.kind.fix,
        **fit_position(process, fatal_error.failure.call),
        evidence=((*seen, *fatal_error.unrecorded) or given)[:MAX_EVIDENCE],
        seen=describe_replay(process, fatal_error.failure.call),
        call=fatal_error.failure.call,
        tensor=next((number for number in fatal_error.event_indexes if number is not None), None),
    )
