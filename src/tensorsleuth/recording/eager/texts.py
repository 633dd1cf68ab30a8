"""Learns where texts come in: from Python, as arguments of functions, from datasets; and looks at some of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorsleuth.core.dtypes import STRING
from tensorsleuth.core.texts import PATTERN, PATTERNS, TEXT_OPS
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.external_inputs import NOBODY
from tensorsleuth.recording.eager.text_summary import TextLook
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT
from tensorsleuth.recording.tensorflow.op_outputs import FAST_PATH, FIRST_INPUT
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

DATASETS = frozenset(["TensorDataset", "TensorSliceDataset"])
DRAWS = frozenset(["IteratorGetNext", "IteratorGetNextSync", "OptionalGetValue", "ReadFile"])
STATIC = "StaticRegexReplace"
HAND_ON = frozenset(
    ["ConcatV2", "ExpandDims", "GatherV2", "Identity", "Pack", "Reshape", "Squeeze", "StridedSlice", "Tile"]
)
ASKED = frozenset([*TEXT_OPS, *DATASETS, *DRAWS, *HAND_ON])  # ops that have a say here
MOST_WAITING, MOST_SEEN, MOST_LINES = 4096, 1 << 16, 1024


class Texts:
    """The recorded texts, by the line where they come in.

    What Python hands over is looked at there, but told only once an op takes it for text, a dataset or a function takes
    it: a vocabulary, or the name of a file, is none. What an op made of a text is none that comes in.
    """

    def __init__(self, catalog: CatalogWriter, sink: Sink, is_elsewhere: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self._sink = sink
        self._is_elsewhere = is_elsewhere
        self._looks: dict[tuple[int, bool], TextLook] = {}  # by site; single texts apart, most of which are none
        self._waiting: dict[int, TextLook] = {}  # by tensor: what Python handed over
        self._seen: dict[int, int] = {}  # where bad texts came in first, by their hash
        self._drawing: set[int] = set()  # ops that draw from datasets, or read files, and those that hand it on
        self._handing: dict[int, TextLook] = {}  # by op that hands on what Python handed over
        self._met: set[int] = set()  # ops that were asked before
        self._patterns: set[str] = set()
        self._of_call: dict[str, tuple[int, ...]] = {}  # by function: which arguments are strings
        self._python: dict[str, int] = {}  # by function of Python in a graph: its site
        self.is_python_asked = self._python.__contains__

    def converted(self, value: Any, tensor: Any, site: int) -> None:
        """Python made a tensor of a text, or of several."""
        look = self._look(site, value)
        if look is not None:
            if len(self._waiting) >= MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
            self._waiting[tensor._id] = look

    def op(self, op: str, args: Sequence[Any], place: int, site: int) -> None:
        """An op of `ASKED` is run, with these arguments of an eager entry point."""
        if op in DRAWS:
            self._drawing.add(place)
            return
        inputs, attributes = _parts(op, args)
        if op in HAND_ON:
            self._hand_on(next(_flat(inputs), None), place)
            return
        self._note_pattern(op, inputs, attributes)
        at = TEXT_OPS.get(op)
        for value in _flat(inputs) if at is None else inputs[at : at + 1]:
            if place not in self._met or isinstance(value, tf.EagerTensor):
                self._take(op, value, site)
        self._met.add(place)

    def _hand_on(self, tensor: Any, place: int) -> None:
        """Note the same texts in another shape."""
        maker = self._sink.maker(tensor._id) if tensor is not None else NOBODY
        look = self._waiting.get(tensor._id) if tensor is not None else None
        look = look or self._handing.get(maker)
        if look is not None:
            self._handing[place] = look
        elif maker in self._drawing:
            self._drawing.add(place)

    def call(self, name: str, inputs: Sequence[Any], site: int) -> None:
        """A function is called."""
        places = self._of_call.get(name)
        if places is None:
            places = self._of_call[name] = tuple(at for at, one in enumerate(inputs) if _is_string(one))
        for at in places:
            self._take(name, inputs[at], site)

    def python_added(self, token: str, site: int) -> None:
        """A function of Python is put into a graph: the generator of a dataset, a `numpy_function`."""
        self._python[token] = site

    def python_made(self, token: str, made: Any) -> None:
        """It gave something. Of what is no text, the first tells."""
        for one in made if isinstance(made, list) else [made]:
            if getattr(getattr(one, "dtype", None), "kind", "?") in "OSU":
                look = self._look(self._python[token], one)
                self._told("PyFunc", look)
                if look is not None and not look.is_full:
                    return
        del self._python[token]

    def close(self) -> None:
        for look in self._looks.values():
            self._write(look, look.broken > 0)

    def _take(self, by: str, value: Any, site: int) -> None:
        if not isinstance(value, tf.EagerTensor):
            self._told(by, self._look(site, value))
            return
        maker = self._sink.maker(value._id)
        known = self._waiting.get(value._id) or self._handing.get(maker)
        if known is not None:
            self._told(by, known)
        elif (maker in (NOBODY, ARGUMENT) or maker in self._drawing) and self._is_at_hand(value):
            self._told(by, self._look(site, value, maker in self._drawing))

    def _is_at_hand(self, tensor: Any) -> bool:
        return _is_string(tensor) and not tf.is_async() and not self._is_elsewhere(tensor.device)

    def _look(self, site: int, value: Any, drawn: bool = False) -> TextLook | None:
        key = site, isinstance(value, str | bytes) or getattr(value, "shape", None) == ()
        look = self._looks.get(key)
        if look is None and len(self._looks) < MOST_LINES:
            look = self._looks[key] = TextLook(len(self._looks), site, drawn)
        if look is not None and not look.is_full:
            look.add(value, self._seen if len(self._seen) < MOST_SEEN else {})
        return look

    def _told(self, by: str, look: TextLook | None) -> None:
        if look is not None:
            look.by = look.by or by
            self._write(look, look.broken >= 2 * look.written)

    def _write(self, look: TextLook, due: bool) -> None:
        """Again when it has doubled, and at the end: a program that dies leaves nearly all of it."""
        if look.by and look.broken and due:
            look.written = look.broken
            self._catalog.incoming(look.describe())

    def _note_pattern(self, op: str, inputs: Sequence[Any], attributes: Sequence[Any]) -> None:
        for one in _patterns(op, inputs, attributes):
            if one and one not in self._patterns and len(self._patterns) < MOST_LINES:
                self._patterns.add(one)
                self._catalog.pattern(one)


def _parts(op: str, args: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The inputs and the attributes among the arguments of an eager entry point."""
    if tf.text(args[FAST_PATH]) != op:  # TFE_Py_Execute(handle, device, op, inputs, attributes, …)
        return list(args[FIRST_INPUT]), args[FIRST_INPUT + 1] or ()
    definition = tf.op_definition(op)
    attributes = FIRST_INPUT + (len(definition.input_arg) if definition is not None else 0)
    return args[FIRST_INPUT:attributes], args[attributes:]


def _is_string(value: Any) -> bool:
    return isinstance(value, tf.EagerTensor) and value._datatype_enum() == STRING


def _flat(inputs: Sequence[Any]) -> Iterator[Any]:
    """The components of a dataset."""
    for value in inputs:
        yield from (one for one in (value if isinstance(value, list | tuple) else [value]) if _is_string(one))


def _patterns(op: str, inputs: Sequence[Any], attributes: Sequence[Any]) -> Iterator[str]:
    """Yield the patterns that an op replaces or splits by, as regular expressions."""
    if op == STATIC:
        pairs = zip(attributes[::2], attributes[1::2], strict=False)
        yield from (_text(value) for name, value in pairs if tf.text(name) == PATTERN)
    elif op in PATTERNS and len(inputs) > PATTERNS[op]:
        given = _text(inputs[PATTERNS[op]])
        yield re.escape(given) if op == "StringSplitV2" else given


def _text(value: Any) -> str:
    value = tf.array_of(value).item() if isinstance(value, tf.EagerTensor) else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
