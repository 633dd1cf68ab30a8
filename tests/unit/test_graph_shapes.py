"""Shapes that were not recorded are inferred through a function's ops, each op once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.diagnose.graph.shapes import FunctionShapes

Described = tuple[str, tuple[int, ...], dict[str, Any]]


def shapes(*nodes: Described) -> FunctionShapes:
    """A function of one argument of shape [8, 6], without a recorded row."""
    described = tuple(
        Node(f"n{at}", kind, "", tuple((source, 0) for source in takes), (), attrs, 0, None, (3,), at)
        for at, (kind, takes, attrs) in enumerate(nodes)
    )
    function = Function(1, "f", 1, ("x",), (3,), {}, described, (), "plain", len(nodes), ((8, 6),))
    process = SimpleNamespace(events=np.zeros(0, [("tensor", "i8")]))
    return FunctionShapes(cast(Any, process), Instance(0, 1, -1, -1, 0), function)


def constant(*numbers: int) -> Described:
    return "Const", (), {"value": [str(number) for number in numbers]}


def test_ops_that_all_have_two_consumers_are_inferred_once() -> None:
    """As residual connections have it. Inferred for each consumer anew, 30 of them would take 2^30 steps."""
    doubled: list[Described] = [("AddV2", (at - 1, at - 1), {}) for at in range(30)]
    assert shapes(*doubled).shape_of(29) == (8, 6)


def test_heads_split_by_the_shape_of_what_is_split() -> None:
    """As `tf.reshape(x, (tf.shape(x)[0], 2, 3))` has it, in blocks whose reshapes read each other's shapes."""
    slices = {"shrink_axis_mask": 1}
    nodes: list[Described] = [constant(0), constant(1), constant(2), constant(3), constant(6)]
    x = -1
    for _ in range(6):
        at = len(nodes)
        nodes += [("Shape", (x,), {}), ("StridedSlice", (at, 0, 1, 1), slices), ("Pack", (at + 1, 2, 3), {})]
        nodes += [("Reshape", (x, at + 2), {}), ("Pack", (at + 1, 4), {}), ("Reshape", (at + 3, at + 4), {})]
        nodes += [("AddV2", (at + 5, x), {})]
        x = at + 6
    found = shapes(*nodes)
    assert found.shape_of(x - 3) == (8, 2, 3)
    assert found.shape_of(x) == (8, 6)


def test_a_cycle_and_a_deep_chain_of_a_damaged_trace_end() -> None:
    assert shapes(("AddV2", (1, -1), {}), ("AddV2", (0, -1), {})).shape_of(1) is None
    chain: list[Described] = [("Relu", (at - 1,), {}) for at in range(5000)]
    assert shapes(*chain).shape_of(4999) is None
