"""The variables of a call: their values before it, and the new variables for a replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE, is_float
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables

_READER_PREFIX = "sleuth_read_variables"
MIN_READ_TOGETHER = 8  # from so many variables on, one call that reads all is faster than single reads


@dataclass(frozen=True)
class VariableArguments:
    """The arguments of a function that are variables."""

    arguments: tuple[int, ...]
    dtypes: tuple[int, ...]

    def handles(self, inputs: Sequence[Any]) -> list[Any]:
        return [inputs[argument] for argument in self.arguments]

    def floats(self) -> VariableArguments:
        """Return the variables whose values can be bad."""
        kept = (number for number, dtype in zip(self.arguments, self.dtypes, strict=True) if is_float(dtype))
        return self.only(frozenset(kept))

    def only(self, arguments: frozenset[int]) -> VariableArguments:
        """Return only the variables at these argument indices."""
        kept = [pair for pair in zip(self.arguments, self.dtypes, strict=True) if pair[0] in arguments]
        return VariableArguments(tuple(argument for argument, _ in kept), tuple(dtype for _, dtype in kept))

    def among(self, values: Sequence[Any], some: VariableArguments) -> list[Any]:
        """Return the values of some of these variables."""
        return [values[self.arguments.index(argument)] for argument in some.arguments]

    def read(self, inputs: Sequence[Any]) -> list[Any]:
        """Return their values, which share the variables' memory. A later write goes to new memory."""
        handles = self.handles(inputs)
        if len(handles) < MIN_READ_TOGETHER:
            return [tf_variables.read_handle(handle, dtype) for handle, dtype in zip(handles, self.dtypes, strict=True)]
        return tf.run_function(_reader(self.dtypes), handles, len(handles), "")


def variables_among(inputs: Sequence[Any]) -> VariableArguments:
    """Return the arguments of a call that are variables."""
    found = []
    for number, one in enumerate(inputs):
        if isinstance(one, tf.EagerTensor) and one._datatype_enum() == RESOURCE:
            dtype = tf_variables.variable_dtype(one)
            if dtype is not None:
                found.append((number, dtype))
    return VariableArguments(tuple(number for number, _ in found), tuple(dtype for _, dtype in found))


def _reader(dtypes: tuple[int, ...]) -> str:
    """Return the name of a function that reads variables of these dtypes."""
    name = (
        f"{_READER_PREFIX}_{'_'.join(map(str, dtypes))}"
        if len(dtypes) < 20
        else f"{_READER_PREFIX}_{hash(dtypes) & 0xFFFF_FFFF_FFFF}"
    )
    if tf.get_function(name) is None:
        tf.add_helper(_reader_function(name, dtypes))
    return name


def _reader_function(name: str, dtypes: tuple[int, ...]) -> Any:
    function = tf.FunctionDef()
    function.signature.name = name
    function.signature.is_stateful = True
    for number, dtype in enumerate(dtypes):
        function.signature.input_arg.add(name=f"v{number}", type=RESOURCE)
        function.signature.output_arg.add(name=f"r{number}", type=dtype)
        node = function.node_def.add(name=f"read{number}", op=tf_variables.READ_VARIABLE, input=[f"v{number}"])
        node.attr["dtype"].type = dtype
        function.ret[f"r{number}"] = f"read{number}:value:0"
    return function


def with_new_variables(
    variable_arguments: VariableArguments, values: Sequence[Any], inputs: Sequence[Any]
) -> list[Any]:
    """Return the arguments of the call with new variables, which hold `values`, in place of the program's."""
    changed = list(inputs)
    for argument, value in zip(variable_arguments.arguments, values, strict=True):
        changed[argument] = tf_variables.make_variable(value, inputs[argument].device)
    return changed
