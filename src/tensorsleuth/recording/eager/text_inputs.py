"""Samples the texts that enter the program: from Python, as arguments of functions, and from datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorsleuth.core.dtypes import STRING
from tensorsleuth.core.ops.data_ops import DATA_READS, PATTERN_INPUTS, TENSOR_DATASETS, TEXT_OPS
from tensorsleuth.core.ops.views import TEXT_MOVES
from tensorsleuth.core.texts import PATTERN_ATTRIBUTE
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.external_inputs import NO_MAKER
from tensorsleuth.recording.eager.text_summary import LineTexts
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT_MAKER
from tensorsleuth.recording.tensorflow.op_outputs import FAST_PATH_OP, FIRST_INPUT
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

STATIC_REGEX_OP = "StaticRegexReplace"
RELEVANT_OPS = frozenset([*TEXT_OPS, *TENSOR_DATASETS, *DATA_READS, *TEXT_MOVES])  # the ops that `note_op` handles
MAX_WAITING_TENSORS, MAX_REMEMBERED_TEXTS, MAX_LINES = 4096, 1 << 16, 1024


class TextInputs:
    """The sampled texts, by the line where they enter.

    A string from Python is sampled when it becomes a tensor. We report it only once a text op, a dataset or a function
    uses it, because a vocabulary or a file name is no text. A string that an op computes does not enter there.
    """

    def __init__(self, catalog: CatalogWriter, sink: Sink, is_elsewhere: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self._sink = sink
        self._is_elsewhere = is_elsewhere
        self._samples: dict[tuple[int, bool], LineTexts] = {}  # by (site, whether it is a single string)
        self._waiting: dict[int, LineTexts] = {}  # tensor -> strings from Python that no op has used yet
        self._first_sites: dict[int, int] = {}  # hash of a bad text -> the site where it first entered
        self._reading: set[int] = set()  # ops that read datasets or files, and ops that move their output
        self._passing: dict[int, LineTexts] = {}  # op that moves strings -> the strings from Python
        self._known_ops: set[int] = set()  # ops that have run before
        self._patterns: set[str] = set()
        self._string_arguments: dict[str, tuple[int, ...]] = {}  # function -> indices of its string arguments
        self._python_sites: dict[str, int] = {}  # Python function in a graph -> its site
        self.is_python_asked = self._python_sites.__contains__

    def note_conversion(self, value: Any, tensor: Any, site: int) -> None:
        """Sample strings that Python has made a tensor of."""
        look = self._sample(site, value)
        if look is not None:
            if len(self._waiting) >= MAX_WAITING_TENSORS:
                del self._waiting[next(iter(self._waiting))]
            self._waiting[tensor._id] = look

    def note_op(self, op: str, args: Sequence[Any], place: int, site: int) -> None:
        """Handle an op of `RELEVANT_OPS` that runs with these arguments of an eager entry point."""
        if op in DATA_READS:
            self._reading.add(place)
            return
        inputs, attributes = _inputs_and_attributes(op, args)
        if op in TEXT_MOVES:
            self._pass_on(next(_string_tensors(inputs), None), place)
            return
        self._note_pattern(op, inputs, attributes)
        at = TEXT_OPS.get(op)
        for value in _string_tensors(inputs) if at is None else inputs[at : at + 1]:
            if place not in self._known_ops or isinstance(value, tf.EagerTensor):
                self._note_taken(op, value, site)
        self._known_ops.add(place)

    def _pass_on(self, tensor: Any, place: int) -> None:
        """Note an op that moves strings, such as a reshape: its output has the same texts."""
        maker = self._sink.maker(tensor._id) if tensor is not None else NO_MAKER
        look = self._waiting.get(tensor._id) if tensor is not None else None
        look = look or self._passing.get(maker)
        if look is not None:
            self._passing[place] = look
        elif maker in self._reading:
            self._reading.add(place)

    def note_call(self, name: str, inputs: Sequence[Any], site: int) -> None:
        """Sample the string arguments of a called function."""
        places = self._string_arguments.get(name)
        if places is None:
            places = self._string_arguments[name] = tuple(at for at, one in enumerate(inputs) if _is_string(one))
        for at in places:
            self._note_taken(name, inputs[at], site)

    def python_added(self, token: str, site: int) -> None:
        """Note a Python function that is put into a graph: a dataset's generator, or a `numpy_function`."""
        self._python_sites[token] = site

    def python_made(self, token: str, made: Any) -> None:
        """Sample the results of such a function. Drop the function if they hold no strings or the sample is full."""
        for one in made if isinstance(made, list) else [made]:
            if getattr(getattr(one, "dtype", None), "kind", "?") in "OSU":
                look = self._sample(self._python_sites[token], one)
                self._report("PyFunc", look)
                if look is not None and not look.is_full:
                    return
        del self._python_sites[token]

    def close(self) -> None:
        for look in self._samples.values():
            self._write(look, look.broken > 0)

    def _note_taken(self, by: str, value: Any, site: int) -> None:
        if not isinstance(value, tf.EagerTensor):
            self._report(by, self._sample(site, value))
            return
        maker = self._sink.maker(value._id)
        known = self._waiting.get(value._id) or self._passing.get(maker)
        if known is not None:
            self._report(by, known)
        elif (maker in (NO_MAKER, ARGUMENT_MAKER) or maker in self._reading) and self._is_at_hand(value):
            self._report(by, self._sample(site, value, maker in self._reading))

    def _is_at_hand(self, tensor: Any) -> bool:
        return _is_string(tensor) and not tf.is_async() and not self._is_elsewhere(tensor.device)

    def _sample(self, site: int, value: Any, drawn: bool = False) -> LineTexts | None:
        key = site, isinstance(value, str | bytes) or getattr(value, "shape", None) == ()
        look = self._samples.get(key)
        if look is None and len(self._samples) < MAX_LINES:
            look = self._samples[key] = LineTexts(len(self._samples), site, drawn)
        if look is not None and not look.is_full:
            look.add(value, self._first_sites if len(self._first_sites) < MAX_REMEMBERED_TEXTS else {})
        return look

    def _report(self, by: str, look: LineTexts | None) -> None:
        if look is not None:
            look.taken_by = look.taken_by or by
            self._write(look, look.broken >= 2 * look.reported)

    def _write(self, look: LineTexts, due: bool) -> None:
        """Write a sample when its bad texts have doubled, and at the end. So a killed program loses less than half."""
        if look.taken_by and look.broken and due:
            look.reported = look.broken
            self._catalog.text_summary(look.describe())

    def _note_pattern(self, op: str, inputs: Sequence[Any], attributes: Sequence[Any]) -> None:
        for one in _patterns(op, inputs, attributes):
            if one and one not in self._patterns and len(self._patterns) < MAX_LINES:
                self._patterns.add(one)
                self._catalog.pattern(one)


def _inputs_and_attributes(op: str, args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the inputs and the attributes among the arguments of an eager entry point."""
    if tf.as_text(args[FAST_PATH_OP]) != op:  # TFE_Py_Execute(handle, device, op, inputs, attributes, …)
        return list(args[FIRST_INPUT]), args[FIRST_INPUT + 1] or ()
    definition = tf.op_definition(op)
    attributes = FIRST_INPUT + (len(definition.input_arg) if definition is not None else 0)
    return args[FIRST_INPUT:attributes], args[attributes:]


def _is_string(value: Any) -> bool:
    return isinstance(value, tf.EagerTensor) and value._datatype_enum() == STRING


def _string_tensors(inputs: Sequence[Any]) -> Iterator[Any]:
    """Yield the string tensors among the inputs. A list of inputs holds the components of a dataset."""
    for value in inputs:
        yield from (one for one in (value if isinstance(value, list | tuple) else [value]) if _is_string(one))


def _patterns(op: str, inputs: Sequence[Any], attributes: Sequence[Any]) -> Iterator[str]:
    """Yield the patterns that an op replaces or splits by, as regular expressions."""
    if op == STATIC_REGEX_OP:
        pairs = zip(attributes[::2], attributes[1::2], strict=False)
        yield from (_text(value) for name, value in pairs if tf.as_text(name) == PATTERN_ATTRIBUTE)
    elif op in PATTERN_INPUTS and len(inputs) > PATTERN_INPUTS[op]:
        given = _text(inputs[PATTERN_INPUTS[op]])
        yield re.escape(given) if op == "StringSplitV2" else given


def _text(value: Any) -> str:
    value = tf.array_of(value).item() if isinstance(value, tf.EagerTensor) else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
