"""Expectations in Keras's functional models: a layer that judges its input and returns it unchanged.

Each Keras package of the program gets its own class. To load a saved model with this layer, import tensorsleuth.keras.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.expect import graphs
from tensorsleuth.live.expect.arguments import make_expectation
from tensorsleuth.live.expect.expectation import Expectation, dtype_name
from tensorsleuth.recording.calling_line import ProgramLine

KERAS_PACKAGES = ("keras", "tf_keras")
_REST = "..."
_NEEDS = "import tensorsleuth.keras, before load_model (pip install tensorsleuth)"  # part of Keras's error message


def judge_by_layer(tensor: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    """Return the tensor that replaces the judged one in a functional model."""
    sizes = list(tensor.shape) if tensor.shape is not None else None
    graphs.judge_static(dtype_name(tensor.dtype), sizes, name, expected, program_line)
    package = type(tensor).__module__.split(".")[0]
    layer = layer_class(package)(
        _described(expected), name, program_line.file, program_line.line, program_line.function
    )
    if expected.that is not None:
        layer.expected = expected
    return layer(tensor)


def _described(expected: Expectation) -> dict[str, Any]:
    """Return the expectation as JSON-compatible arguments of `make_expectation`."""
    fields = {rule: getattr(expected, rule) for rule in expected.rules if rule != "that"}
    if expected.shape is not None:
        fields["shape"] = [_REST if dim is ... else dim for dim in expected.shape]
    if expected.one_of is not None:
        fields["one_of"] = [one.decode() if isinstance(one, bytes) else one for one in expected.one_of]
    for name in ("dtype", "rank", "between"):
        fields |= {name: list(fields[name])} if name in fields else {}
    plain = {"axis": expected.axis, "tolerance": expected.tolerance, "on_violation": expected.on_violation}
    return fields | plain | ({"that": "a function"} if expected.that is not None else {})


def _read(described: dict[str, Any], name: str) -> Expectation:
    fields = dict.fromkeys(Expectation.__dataclass_fields__) | {"axis": -1, "on_violation": "raise", "name": name}
    fields |= {key: value for key, value in described.items() if key != "that"}
    if described.get("shape") is not None:
        fields["shape"] = tuple(... if dim == _REST else dim for dim in described["shape"])
    if len(described) == len(("axis", "tolerance", "on_violation", "that")) and "that" in described:
        return Expectation(name=name)  # it consists of a function only, which the caller adds
    return make_expectation(**fields)


@cache
def layer_class(package: str) -> Any:
    """Return the layer class for one Keras package: `keras` or `tf_keras`."""
    keras = importlib.import_module(package)

    class Expect(keras.layers.Layer):  # type: ignore[name-defined]
        """Judges its input and returns it unchanged."""

        def __init__(
            self, expectation: Any, of: str, file: Any = None, line: Any = None, function: Any = None, **options: Any
        ) -> None:
            options.pop("needs", None)
            super().__init__(autocast=False, **options)
            self.supports_masking = True
            self.expected = _read(dict(expectation), of)
            self.place = ProgramLine(file, line, function)
            self.described = {"expectation": dict(expectation), "of": of, "needs": _NEEDS}
            self.described |= {"file": file, "line": line, "function": function}

        def call(self, inputs: Any) -> Any:
            from tensorsleuth.live.expect.api import judge_structure

            return judge_structure(inputs, self.expected, self.place)

        def compute_output_shape(self, input_shape: Any) -> Any:
            return input_shape

        def get_config(self) -> Any:
            if self.expected.that is not None:
                raise SleuthError(
                    f"expect(that=…) at {self.place}: a model with a function in it cannot be saved. "
                    "Use other rules (between, one_of…), or call expect outside of the model."
                )
            config = {**super().get_config(), **self.described}
            config.pop("autocast", None)
            return config

    Expect.call.autograph_info__ = {}  # type: ignore[attr-defined]  # AutoGraph must not convert it
    Expect.__module__, Expect.__qualname__ = "tensorsleuth.keras", "Expect"
    saving = getattr(keras, "saving", None) or keras.utils
    return saving.register_keras_serializable(package="tensorsleuth")(Expect)


def register() -> None:
    """Register the layer with every loaded Keras, so that saved models with this layer can be loaded."""
    for package in KERAS_PACKAGES:
        if package in sys.modules:
            layer_class(package)
