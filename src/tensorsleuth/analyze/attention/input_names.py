"""The program's names of the inputs of its functions."""

from __future__ import annotations


def program_input_name(name: str) -> str:
    """Return the program's name: `ids`, or for elements that Keras takes from a dataset, `x`, `x[1]`, `y`."""
    function, _, path = name.partition("/")
    if "on_iterator" not in function and not path.partition("/")[0].isdigit():
        return path or name
    first, *rest = path.split("/")
    part = {"0": "x", "1": "y", "2": "sample_weight"}.get(first, first)
    return part + "".join(f"[{one}]" if one.isdigit() else f'["{one}"]' for one in rest)
