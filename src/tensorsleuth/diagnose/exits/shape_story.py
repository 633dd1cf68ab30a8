"""An error about shapes in words: what met where, and the line that chose the size which does not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.indexing import LABEL_OPS
from tensorsleuth.core.ops.views import SHAPE_ONLY_OPS
from tensorsleuth.diagnose.exits.exception_message import plain_message
from tensorsleuth.diagnose.exits.failure import FatalError
from tensorsleuth.diagnose.exits.indexes.bad_index import bad_index
from tensorsleuth.diagnose.exits.met_shapes import Culprit, MetShapes
from tensorsleuth.diagnose.exits.refusals.fixed_batch import FixedBatch, fixed_batch
from tensorsleuth.diagnose.exits.refusals.size_source import Axis
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor, SizedTensors
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.refusal import FEEDING, Refusal, Sizes

SHAPE_MISMATCH = "shape-mismatch"
_LABELS = re.compile(r"labels shape \[([\d, ]+)\]")
FED_THERE = 0.9
BATCH_CHANGED = 0.9
PROVED = 0.9  # the message has both sizes, and no variable chose one
MET_THERE = 0.75  # confidence in the line where they met: the one to change may be elsewhere


@dataclass(frozen=True)
class ShapeStory:
    """The story of an error about shapes."""

    sentence: str  # whole, with its lines
    fix: str | None
    confidence: float
    frame: Frame | None  # the line to change
    evidence: tuple[Evidence, ...]
    is_explained: bool  # two sizes were found that differ


def story_of_refusal(process: ProcessTrace, error: str, message: str = "") -> ShapeStory | None:
    """Return the story of the exception that ended the program, if it is that and its inputs were noted."""
    uncaught = process.catalogue.meta.get("uncaught")
    refusal = Refusal.from_json(uncaught.get("refused")) if isinstance(uncaught, dict) else None
    if refusal is None or not isinstance(uncaught, dict) or message not in str(uncaught.get("message")):
        return None
    if bad_index(str(uncaught["message"])) is not None:  # which may name a shape that the index is not within
        return None
    tensors = SizedTensors(process)
    if refusal.op == FEEDING and len(refusal.operands) == 2:
        site = process.catalogue.sites.get(refusal.site)
        return feeding_story(tensors.of_refusal(refusal), site.frame if site is not None else None, error)
    met = MetShapes(tensors, refusal.op, process.catalogue.sites.get(refusal.site), tensors.of_refusal(refusal))
    return _story(met, error, plain_message(str(uncaught["message"])))


def story_of_failure(process: ProcessTrace, fatal_error: FatalError) -> ShapeStory | None:
    """Return the story of an op that failed when it ran: in a function, with the inputs of its rows."""
    failed_call = fatal_error.failure
    if not fatal_error.inputs or fatal_error.node is None:
        return story_of_refusal(process, failed_call.type, failed_call.message)
    tensors = SizedTensors(process)
    op, node = fatal_error.op, fatal_error.node
    if op in SHAPE_ONLY_OPS and (forward := tensors.differentiated(*node)) is not None:
        op, node = forward[0], (node[0], forward[1])
    operands = tensors.of_inputs(*node, failed_call.call)
    if fatal_error.op in LABEL_OPS and len(operands) == 1:
        operands += _labels(failed_call.message)
    met = MetShapes(tensors, op, fatal_error.site, operands)
    return _story(met, failed_call.type, plain_message(failed_call.message))


def _labels(message: str) -> list[SizedTensor]:
    """Return the labels, which are integers and have no row, with the shape that the message tells."""
    found = _LABELS.search(message)
    sizes = tuple(int(size) for size in re.findall(r"\d+", found[1])) if found is not None else ()
    return [SizedTensor("", "labels", sizes, None)] if sizes else []


def feeding_story(met: list[SizedTensor], frame: Frame | None, error: str) -> ShapeStory:
    """Return the story of an array that a session refused to feed to a placeholder."""
    placeholder, array = met
    wanted, fed = placeholder.shape or (), array.shape or ()
    line = f" of {_line(placeholder.frame)}" if placeholder.frame is not None else ""
    sentence = f"{_line(frame)} feeds {_sizes(fed)} to the placeholder {_name(placeholder)}{line} ({error})"
    fits = f"give it the shape {_sizes(wanted)}"
    if len(fed) == len(wanted) and _fits(tuple(reversed(fed)), wanted):
        fits = f"transpose what is fed (array.T), which then is {_sizes(tuple(reversed(fed)))}"
    elif len(fed) + 1 == len(wanted) and _fits((1, *fed), wanted):
        fits = f"feed a batch, not a sample: array[None] is {_sizes((1, *fed))}"
    elif len(fed) + 1 == len(wanted) and _fits((*fed, 1), wanted):
        fits = f"add the last axis: array[..., None] is {_sizes((*fed, 1))}"
    fix = f"{fits}; or make the placeholder for what is fed, if that is right"
    pieces = ((one, tuple(-1 if size is None else size for size in one.shape or ())) for one in met)
    evidence = tuple(Evidence("in", one.name or "fed", one.op, "", sizes, "", None) for one, sizes in pieces)
    return ShapeStory(sentence, fix, FED_THERE, frame, evidence, True)


def _fits(shape: Sizes, wanted: Sizes) -> bool:
    return all(right is None or size == right for size, right in zip(shape, wanted, strict=True))


def _story(met: MetShapes, error: str, message: str) -> ShapeStory | None:
    if not met.operands:
        return None
    conflict = met.conflict(message)
    culprit = met.culprit(conflict) if conflict is not None else None
    where = _line(met.frame)
    told = _refusal_words(met, error, message, conflict)
    evidence = tuple(met.evidence())
    batch = fixed_batch(conflict) if conflict is not None else None
    if batch is not None and met.has_met(batch.rows):
        sentence = f"{_batch_words(batch)}: {where} {met.op} got {met.met} ({error})"
        return ShapeStory(sentence, batch.fix, BATCH_CHANGED, batch.frame, evidence, True)
    if culprit is None:
        proved = conflict is not None and met.is_proved(conflict, message)
        sure = PROVED if proved else MET_THERE
        return ShapeStory(f"{where} {told}", _fix(conflict), sure, met.frame, evidence, conflict is not None)
    line = _line(culprit.tensor.frame)
    reshaping = culprit.reshaping
    of = f" of {_sizes(reshaping.given)}" if reshaping is not None else ""
    sentence = f"{line} makes {_name(culprit.tensor)}{of}, which does not fit in {where}: {told}"
    return ShapeStory(sentence, _fix_of(culprit), culprit.confidence, culprit.tensor.frame, evidence, True)


def _refusal_words(met: MetShapes, error: str, message: str, conflict: tuple[Axis, Axis] | None) -> str:
    if conflict is None or not met.is_op:
        told = f"raised {error}: {message.rstrip('.')}"
        return f"{told}. It got {met.met}" if met.has_lines else told
    lines = (f"{size} is a size of {_name(one)} of {_line(one.frame)}" for size, one in met.distant_sources(conflict))
    sizes = f"{conflict[0].size} and {conflict[1].size} do not fit together"
    return "; ".join([f"{met.op} got {met.met}: {sizes} ({error})", *lines])


def _batch_words(batch: FixedBatch) -> str:
    one = batch.tensor
    shape = _sizes(one.shape or ())
    if one.caller is not None:
        made = f"{_line(one.caller)} always asks for {batch.rows} rows, which {_line(one.frame)} makes {shape}"
    else:
        made = f"{_line(one.frame)} always makes {batch.rows} rows {shape}"
    return f"{made}, and this batch has {batch.batch}, not {batch.rows} as others before"


def _line(frame: Frame | None) -> str:
    return f"{frame.file}:{frame.line}" if frame is not None else "an unknown line"


def _name(tensor: SizedTensor) -> str:
    return f"{tensor.name or tensor.op} {_sizes(tensor.shape or ())}"


def _sizes(shape: Sizes) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _fix(conflict: tuple[Axis, Axis] | None) -> str | None:
    if conflict is None:
        return None
    return f"find out which of {conflict[0].size} and {conflict[1].size} is meant, and give both tensors that size"


def _fix_of(culprit: Culprit) -> str:
    if culprit.reshaping is not None:
        return culprit.reshaping.fix
    name = culprit.tensor.name or culprit.tensor.op
    if culprit.right in (culprit.tensor.shape or ()):
        return f"{name} may have to be transposed: it has the size {culprit.right}, on another axis"
    return f"give {name} {culprit.right} in place of {culprit.wrong} there, or change the other tensor"
