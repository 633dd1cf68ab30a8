"""Names of the parts of structures, and the part of the data that each name in a schema means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorsleuth.data.block import Column
from tensorsleuth.data.schema import Schema

KERAS_TUPLE_NAMES = ("x", "y", "sample_weight")  # the parts of a tuple that models take


def named_leaves(structure: Any, prefix: str = "", named: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Yield the leaves of nested dicts and tuples, each with its path and whether its last name is the user's."""
    if isinstance(structure, Mapping):
        for key, value in structure.items():
            yield from named_leaves(value, _join(prefix, str(key)), True)
    elif isinstance(structure, tuple) and hasattr(structure, "_fields"):
        yield from named_leaves(dict(zip(structure._fields, structure)), prefix, True)
    elif isinstance(structure, (tuple, list)):
        top = not prefix and len(structure) in (2, 3)
        for place, value in enumerate(structure):
            yield from named_leaves(value, _join(prefix, KERAS_TUPLE_NAMES[place] if top else str(place)), False)
    else:
        yield prefix or KERAS_TUPLE_NAMES[0], structure, named


def _join(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def bind_columns(schema: Schema | None, columns: Sequence[Column]) -> dict[str, str]:
    """Map columns to the schema's names: by name, by the end of the path, else by order in a tuple."""
    if schema is None:
        return {column.name: column.name for column in columns}
    bound = {column.name: column.name for column in columns if column.name in schema}
    for column in columns:
        end = column.name.rpartition("/")[2]
        if column.name not in bound and column.named and end in schema and end not in bound.values():
            bound[column.name] = end
    left = [name for name in schema if name not in bound.values()]
    nameless = [column.name for column in columns if column.name not in bound and not column.named]
    return bound | dict(zip(nameless, left)) if len(left) == len(nameless) else bound
