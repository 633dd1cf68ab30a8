"""Runs compiled functions without XLA: the same program, with the same random numbers."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from tensorsleuth.recording.functions.function_def import MUST_COMPILE
from tensorsleuth.recording.tensorflow import internals as tf

ALONE_PREFIX = "sleuth_alone_"
_COMPILE_ATTRIBUTES = (MUST_COMPILE, "_noinline")  # set by `jit_compile=True` on a function and its calls
_RANDOM_OPS = re.compile("Stateless(Random(?!Get)|TruncatedNormal|Parameterized|Multinomial|Shuffle)")


def uncompile(attrs: Any) -> None:
    """Remove XLA's attributes from a function or a call."""
    for mark in _COMPILE_ATTRIBUTES:
        attrs.pop(mark, None)


def differs_in_xla(op: str) -> bool:
    """Return whether XLA draws other random numbers than TensorFlow's kernel from the same seed."""
    return bool(_RANDOM_OPS.match(op))


def compile_alone(node: Any) -> None:
    """Replace a node by a call of a compiled function with only this op, which draws XLA's random numbers."""
    original = type(node)()
    original.CopyFrom(node)
    dtypes = _dtypes(original, _definition(original).output_arg)
    function = _function_around(original, dtypes)
    node.op = "PartitionedCall"
    node.attr.clear()
    node.attr["f"].func.name = function
    node.attr["Tin"].list.type.extend(_dtypes(original, _definition(original).input_arg))
    node.attr["Tout"].list.type.extend(dtypes)
    node.attr[MUST_COMPILE].b = True


def _function_around(node: Any, dtypes: list[int]) -> str:
    """Return the name of a function that contains only this op."""
    function = tf.FunctionDef()
    inputs = _dtypes(node, _definition(node).input_arg)
    attrs = ",".join(f"{name}={value}" for name, value in sorted(node.attr.items()))
    name = f"{ALONE_PREFIX}{node.op}_{hashlib.sha256(attrs.encode()).hexdigest()[:16]}"
    if tf.get_function(name) is not None:
        return name
    function.signature.name = name
    function.attr[MUST_COMPILE].b = True
    inside = function.node_def.add()
    inside.CopyFrom(node)
    inside.name = "op"
    del inside.input[:]
    for number, dtype in enumerate(inputs):
        function.signature.input_arg.add(name=f"i{number}", type=dtype)
        inside.input.append(f"i{number}")
    outputs = [argument.name for argument in _definition(node).output_arg]
    for number, dtype in enumerate(dtypes):
        function.signature.output_arg.add(name=f"o{number}", type=dtype)
        function.ret[f"o{number}"] = f"op:{outputs[number]}:0"
    tf.add_helper(function)
    return name


def _dtypes(node: Any, arguments: Any) -> list[int]:
    """Return the dtypes of those inputs or outputs of an op that are single tensors."""
    return [argument.type or node.attr[argument.type_attr].type for argument in arguments]


def _definition(node: Any) -> Any:
    return tf.op_definition(node.op)
