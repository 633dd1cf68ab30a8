"""The inputs of a failed op that have no row (integers have none), from the error or from the feeds."""

from __future__ import annotations

import re

from tensorsleuth.core.catalog import FailedCall, Function, Instance, Node, Site
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.finding import Evidence
from tensorsleuth.diagnose.exits.value_text import parse_value_text
from tensorsleuth.trace.process.process import ProcessTrace

RESOURCE = 20  # the dtype of a variable's handle
MAX_SHOWN_VALUES = 8  # values
_LABELS = re.compile(r"Label values: ((?:-?\d+ ?)+)")
_INDEX = re.compile(r"indices\[([\d,]*)\] = (-?\d+)")


def unrecorded_inputs(
    process: ProcessTrace, failed_call: FailedCall, instance: Instance, node: Node, slots: list[bool]
) -> tuple[Evidence, ...]:
    """Return a description of each input slot without a row, if the error or the feeds describe it."""
    function = process.catalogue.functions[instance.function]
    missing = [source for source, seen in zip(node.inputs, slots) if not seen]
    found = (_evidence_of(process, failed_call, instance, function, number) for number, _ in missing)
    return tuple(one for one in found if one is not None)


def _evidence_of(
    process: ProcessTrace, failed_call: FailedCall, instance: Instance, function: Function, number: int
) -> Evidence | None:
    if number >= 0:
        made = function.nodes[number]
        dtype, said = _integer_dtype(made.dtypes[:1]), _values_in_message(failed_call.message)
        if said is None or dtype is None:
            return None
        return Evidence("in", made.name, made.type, dtype, None, said, _line(process.catalogue.sites.get(made.site)))
    argument = -1 - number
    if argument >= len(function.arguments) or function.argument_dtypes[argument] == RESOURCE:
        return None
    fed = _fed_text(failed_call, function, argument) if instance.parent < 0 else None
    dtype = _integer_dtype(function.argument_dtypes[argument : argument + 1])
    said = _values_in_message(failed_call.message) if dtype is not None else None
    told = said.rpartition(": ")[2] if said and fed else said  # what was fed has its range
    kind, shape, values = parse_value_text(fed) if fed else (dtype or "", None, "")
    health = ", ".join(words for words in (values, told) if words)
    return Evidence("in", function.arguments[argument], "Argument", kind, shape, health)


def _integer_dtype(dtypes: tuple[int, ...]) -> str | None:
    """The name of a dtype of integers, as labels and indices have."""
    name = dtype_of(dtypes[0]).name if dtypes else ""
    return name if name.startswith(("int", "uint")) else None


def _fed_text(failed_call: FailedCall, function: Function, argument: int) -> str | None:
    """Return the inputs from Python as the failure has them, without handles of variables."""
    place = sum(dtype != RESOURCE for dtype in function.argument_dtypes[:argument])
    return failed_call.inputs[place] if place < len(failed_call.inputs) else None


def _values_in_message(message: str) -> str | None:
    """Return the values in TensorFlow's message."""
    if (labels := _LABELS.search(message)) is not None:
        values = [int(value) for value in labels[1].split()]
        more = " …" if len(values) > MAX_SHOWN_VALUES else ""
        return f"range {min(values)} … {max(values)}: {' '.join(map(str, values[:MAX_SHOWN_VALUES]))}{more}"
    if (index := _INDEX.search(message)) is not None:
        return f"{index[2]} at [{index[1].replace(',', ', ')}]"
    return None


def _line(site: Site | None) -> str | None:
    return f"{site.frame.file}:{site.frame.line}" if site is not None and site.frame is not None else None
