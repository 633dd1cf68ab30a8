"""Reads a FunctionDef: its nodes by number, their outputs, and the edges between them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import RESOURCE, STRING, VARIANT
from tensorsleuth.recording.tensorflow import internals as tf

MUST_COMPILE = "_XlaMustCompile"
MAX_ATTRIBUTE_TEXT = 200
MAX_ATTRIBUTE_VALUES = 16
REFERENCE_OFFSET = 100  # marks the dtype of a reference to a variable, which cannot have a probe


@dataclass(frozen=True, slots=True)
class OutputArgument:
    """One output argument of an op: its name, and the dtypes of the tensors in it."""

    name: str
    dtypes: tuple[int, ...]


@dataclass(slots=True)
class Definition:
    """A FunctionDef with resolved names."""

    proto: Any
    arguments: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    outputs: list[tuple[OutputArgument, ...]] = field(default_factory=list)
    first_outputs: list[int] = field(default_factory=list)  # for each node, the number of its first output
    tensors: int = 0

    def source(self, text: str) -> tuple[int, int]:
        """Return the (node, output) of a data input; for an argument, (-1 - its index, 0)."""
        name, *rest = text.split(":")
        if name in self.arguments and len(rest) < 2:
            return -1 - self.arguments[name], 0
        number = self.nodes[name]
        return number, self._output_number(number, rest)

    def resolve(self, text: str, passed: Container[str] = ("Identity",)) -> str:
        """Return the source of a data input, skipping ops that pass on their first input."""
        for _ in range(len(self.proto.node_def)):
            number = self.source(text)[0]
            if number < 0 or self.proto.node_def[number].op not in passed:
                break
            text = self.proto.node_def[number].input[0]
        return text

    def _output_number(self, number: int, rest: list[str]) -> int:
        """Return the index of the node's output that `arg:index` names."""
        at = 0
        for output in self.outputs[number]:
            if rest and output.name == rest[0]:
                return at + (int(rest[1]) if len(rest) > 1 else 0)
            at += len(output.dtypes)
        raise KeyError(rest)

    def output_names(self, number: int) -> Iterator[tuple[str, int]]:
        """Yield the node's output tensors by the names that consumers use, with their dtypes."""
        name = self.proto.node_def[number].name
        for output in self.outputs[number]:
            for index, dtype in enumerate(output.dtypes):
                yield f"{name}:{output.name}:{index}", dtype


def read_definition(proto: Any) -> Definition:
    """Read a FunctionDef and resolve its names."""
    definition = Definition(proto)
    definition.arguments = {argument.name: i for i, argument in enumerate(proto.signature.input_arg)}
    definition.tensors = len(definition.arguments)
    for number, node in enumerate(proto.node_def):
        outputs = tuple(node_outputs(node))
        definition.nodes[node.name] = number
        definition.outputs.append(outputs)
        definition.first_outputs.append(definition.tensors)
        definition.tensors += sum(len(output.dtypes) for output in outputs)
    return definition


def node_outputs(node: Any) -> Iterator[OutputArgument]:
    """Yield the outputs of a node."""
    signature = tf.op_definition(node.op) or _function_signature(node.op)
    for argument in signature.output_arg if signature else ():
        yield OutputArgument(argument.name, _dtypes(node, argument))


def _function_signature(name: str) -> Any | None:
    function = tf.get_function(name)
    return function.signature if function is not None else None


def _dtypes(node: Any, argument: Any) -> tuple[int, ...]:
    if argument.type_list_attr:
        return tuple(node.attr[argument.type_list_attr].list.type)
    dtype = (argument.type or node.attr[argument.type_attr].type) + (REFERENCE_OFFSET if argument.is_ref else 0)
    return (dtype,) * (node.attr[argument.number_attr].i if argument.number_attr else 1)


def called_functions(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions that a node calls: the attribute's name, and the NameAttrList."""
    for name in function_attributes(node.op):
        if name not in node.attr:  # reading a missing key would add it to a protobuf map
            continue
        value = node.attr[name]
        if value.func.name:
            yield name, value.func
        for function in value.list.func:
            yield name, function


def is_compiled(attrs: Any) -> bool:
    """Return whether XLA compiles the function or node with these attributes."""
    return MUST_COMPILE in attrs and bool(attrs[MUST_COMPILE].b)


@cache
def function_attributes(op: str) -> tuple[str, ...]:
    """Return the names of an op's attributes that hold functions."""
    definition = tf.op_definition(op)
    if definition is None:
        return ()
    return tuple(attr.name for attr in definition.attr if attr.type in ("func", "list(func)"))


def describe_attributes(node: Any) -> dict[str, Any]:
    """Return a node's attributes as JSON-compatible values, long ones shortened."""
    if node.op == "Const":
        return _describe_constant(node)
    return {name: described for name, value in node.attr.items() if (described := _describe(value)) is not None}


def _describe(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "s":
        return value.s[:MAX_ATTRIBUTE_TEXT].decode("utf-8", "replace")
    if kind in ("i", "f", "b", "type"):
        return getattr(value, kind)
    if kind == "func":
        return value.func.name
    if kind == "shape":
        return _sizes(value.shape)
    if kind == "list" and value.list.shape:
        return [_sizes(shape) for shape in list(value.list.shape)[:MAX_ATTRIBUTE_VALUES]]
    if kind == "list":
        return [
            list(values)[:MAX_ATTRIBUTE_VALUES] for values in (value.list.i, value.list.f, value.list.type) if values
        ] or None
    return None


def _sizes(shape: Any) -> list[int] | None:
    """Return the sizes of a shape, -1 for unknown ones."""
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]


def argument_shapes(proto: Any) -> list[list[int] | None]:
    """Return the traced shapes, one for each argument."""
    found: list[list[int] | None] = []
    for number in range(len(proto.signature.input_arg)):
        attrs = proto.arg_attr[number].attr if number in proto.arg_attr else {}
        shapes = attrs["_output_shapes"].list.shape if "_output_shapes" in attrs else ()
        found.append(_sizes(shapes[0]) if shapes else None)
    return found


def _describe_constant(node: Any) -> dict[str, Any]:
    tensor = node.attr["value"].tensor
    described: dict[str, Any] = {
        "dtype": tensor.dtype,
        "shape": [dim.size for dim in tensor.tensor_shape.dim],
    }
    elements = 1
    for dim in tensor.tensor_shape.dim:
        elements *= dim.size
    if elements <= MAX_ATTRIBUTE_VALUES and tensor.dtype not in _NON_NUMERIC_DTYPES:
        described["value"] = [str(v) for v in tf.constant_value(node).ravel().tolist()]
    elif elements == 1 and tensor.dtype == STRING and tensor.string_val:  # such as a separator or a pattern
        described["text"] = tensor.string_val[0][:MAX_ATTRIBUTE_TEXT].decode("utf-8", "replace")
    elif tensor.dtype in _FLOATS:
        described |= _non_finite(tf.constant_value(node))
    return described


def _non_finite(values: Any) -> dict[str, bool]:
    """Return whether an array that is too large to keep contains NaN or infinities."""
    found = {"nan": np.isnan(values), "infinite": np.isinf(values)}
    return {name: True for name, where in found.items() if where.any()}


_NON_NUMERIC_DTYPES = frozenset((STRING, RESOURCE, VARIANT))
_FLOATS = frozenset((1, 2, 14, 19))  # float32, float64, bfloat16, float16
