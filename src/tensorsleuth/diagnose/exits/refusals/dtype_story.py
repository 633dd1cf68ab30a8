"""An error about dtypes in words: which tensors met, the lines that made them, and which one to cast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.error_text import is_about_dtypes
from tensorsleuth.core.finding import Evidence
from tensorsleuth.diagnose.exits.exception_message import plain_message
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor, SizedTensors
from tensorsleuth.diagnose.source_lines import assigned_name
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.refusal import Refusal

DTYPES_MET, ONE_DTYPE = 0.9, 0.75  # confidence: two dtypes were seen to differ, or only what the message says
MAX_SHOWN = 4  # tensors in a sentence
_OP = re.compile(r"cannot compute (\w+) as|'(\w+)' Op has|to '\w+' of '(\w+)' Op|of op '(\w+)'|\[Op:(\w+)\]")
_ALLOWED = re.compile(r"list of allowed values: ([\w, ]+)")


@dataclass(frozen=True)
class TypedTensor:
    """A tensor that was refused, with its dtype."""

    dtype: str
    tensor: SizedTensor
    name: str | None  # in the program

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    @property
    def frame(self) -> Frame | None:
        return self.tensor.frame


@dataclass(frozen=True)
class DtypeStory:
    """The story of an error about dtypes."""

    sentence: str
    fix: str
    confidence: float
    frame: Frame | None
    evidence: tuple[Evidence, ...]


def dtype_story(process: ProcessTrace, error: str, told: str) -> DtypeStory | None:
    """Return the story of the exception that ended the program, if it is that and is about dtypes."""
    uncaught = process.catalogue.meta.get("uncaught")
    if not isinstance(uncaught, dict) or not is_about_dtypes(told) or told not in str(uncaught.get("message")):
        return None
    refusal = Refusal.from_json(uncaught.get("refused"))
    met = _typed_tensors(process, refusal) if refusal is not None else []
    if refusal is None or not met:
        return None
    site = process.catalogue.sites.get(refusal.site)
    frame = site.frame if site is not None else None
    found = _OP.search(told)
    op = next((name for name in found.groups() if name), refusal.op) if found is not None else refusal.op
    differ = len({one.dtype for one in met}) > 1
    got = " and ".join(_words(one, frame) for one in _distinct(met)[:MAX_SHOWN])
    allowed = _ALLOWED.search(told)
    takes = f" and takes {_kinds(allowed[1])} only" if allowed is not None else ""
    why = f"{op} got {got}{takes}" if differ or allowed else f"{op} got {got}. {plain_message(told)}"
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line:"
    sure = DTYPES_MET if differ or allowed is not None else ONE_DTYPE
    return DtypeStory(f"{where} {why} ({error})", _fix(met, allowed is not None), sure, frame, tuple(_evidence(met)))


def _typed_tensors(process: ProcessTrace, refusal: Refusal) -> list[TypedTensor]:
    nodes = [refusal.nodes[number] for number in refusal.operands]
    tensors = SizedTensors(process).of_refusal(refusal)
    pairs = zip(nodes, tensors, strict=True)
    return [TypedTensor(node.dtype, one, assigned_name(process, one.frame)) for node, one in pairs if node.dtype]


def _kinds(allowed: str) -> str:
    """Return `floats` or `integers` for a list of dtypes, if it is of one kind."""
    has_floats, has_integers = bool(re.search("float|half|double", allowed)), bool(re.search(r"\bu?int", allowed))
    return allowed.strip() if has_floats == has_integers else "floats" if has_floats else "integers"


def _distinct(met: list[TypedTensor]) -> list[TypedTensor]:
    """Return one tensor of each dtype, if there are several dtypes."""
    first = {one.dtype: one for one in reversed(met)}
    return list(reversed(first.values())) if len(first) > 1 else met


def _words(one: TypedTensor, here: Frame | None) -> str:
    name = f"`{one.name}` " if one.name and one.frame != here and not one.tensor.is_variable else ""
    return f"{name}{one.dtype} {one.tensor.words(here)}"


def _fix(met: list[TypedTensor], is_limited: bool) -> str:
    floats = [one for one in met if one.is_float]
    integers = [one for one in met if one.is_integer]
    if is_limited and floats and not integers:
        return f"indexes and ids are integers: tf.cast({floats[-1].name or 'x'}, tf.int32)"
    if integers:
        wanted = floats[0].dtype if floats else "float32"
        return f"cast the integers before they meet: tf.cast({integers[0].name or 'x'}, tf.{wanted})"
    if {one.dtype for one in floats} == {"float32", "float64"}:
        wide = next(one for one in floats if one.dtype == "float64")
        return f"NumPy makes float64, TensorFlow float32: tf.cast({wide.name or 'x'}, tf.float32), or astype('float32')"
    return "cast one of them with tf.cast, so that all have one dtype"


def _evidence(met: list[TypedTensor]) -> Iterator[Evidence]:
    for one in met:
        line = f"{one.frame.file}:{one.frame.line}" if one.frame is not None else None
        shape = tuple(-1 if size is None else size for size in one.tensor.shape or ())
        yield Evidence("in", one.tensor.name, one.tensor.op, one.dtype, shape, "", line)
