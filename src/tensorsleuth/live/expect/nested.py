"""Applies a function to each leaf of a nested structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

JudgeLeaf = Callable[[Any, str], Any]  # (leaf, path) -> the leaf or its replacement


def map_leaves(thing: Any, judge_leaf: JudgeLeaf, path: str = "") -> Any:
    """Judge every leaf. Return the structure with the results, or the same object if no leaf changed."""
    if isinstance(thing, Mapping):
        changed = {key: map_leaves(value, judge_leaf, f"{path}[{key!r}]") for key, value in thing.items()}
        return thing if all(changed[key] is thing[key] for key in thing) else _like_mapping(thing, changed)
    if isinstance(thing, list | tuple):
        items = [map_leaves(value, judge_leaf, _item_path(thing, path, at)) for at, value in enumerate(thing)]
        return thing if all(one is was for one, was in zip(items, thing)) else _like_sequence(thing, items)
    return thing if thing is None else judge_leaf(thing, path)


def is_structure(thing: Any) -> bool:
    return isinstance(thing, Mapping | list | tuple)


def _item_path(thing: Any, path: str, at: int) -> str:
    fields = getattr(thing, "_fields", None)
    return f"{path}.{fields[at]}" if fields else f"{path}[{at}]"


def _like_mapping(thing: Any, changed: dict[Any, Any]) -> Any:
    if type(thing) is dict:
        return changed
    try:
        return type(thing)(changed)
    except TypeError:  # for example, a defaultdict
        made = thing.copy()
        made.update(changed)
        return made


def _like_sequence(thing: Any, items: list[Any]) -> Any:
    return type(thing)(*items) if hasattr(thing, "_fields") else type(thing)(items)
