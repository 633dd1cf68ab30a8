"""The operations of `keras.ops`, by the names of their classes, and the ops of TensorFlow that each runs."""

from __future__ import annotations

# Those of one op. A functional model keeps them, and runs them without a name of their own.
_ARITHMETIC = {
    "Absolute": "Abs",
    "Add": "AddV2",
    "Arccos": "Acos",
    "Arccosh": "Acosh",
    "Arcsin": "Asin",
    "Arctanh": "Atanh",
    "Cos": "Cos",
    "Cumprod": "Cumprod",
    "Cumsum": "Cumsum",
    "Exp": "Exp",
    "Expm1": "Expm1",
    "Log": "Log",
    "Log1p": "Log1p",
    "LogSoftmax": "LogSoftmax",
    "Max": "Max",
    "Maximum": "Maximum",
    "Mean": "Mean",
    "Min": "Min",
    "Minimum": "Minimum",
    "Multiply": "Mul",
    "Negative": "Neg",
    "Power": "Pow",
    "Prod": "Prod",
    "Reciprocal": "Reciprocal",
    "Relu": "Relu",
    "Rsqrt": "Rsqrt",
    "Sigmoid": "Sigmoid",
    "Sin": "Sin",
    "Sinh": "Sinh",
    "Softmax": "Softmax",
    "Sqrt": "Sqrt",
    "Square": "Square",
    "Subtract": "Sub",
    "Sum": "Sum",
    "Tanh": "Tanh",
    "TrueDivide": "RealDiv",
    "Where": "SelectV2",
}
# They move or compare elements, and no cause of a bad value is about them.
_MOVING = frozenset(
    [
        *("BroadcastTo", "Cast", "Concatenate", "ExpandDims", "Flip", "GetItem", "OneHot", "OnesLike", "Repeat"),
        *("Reshape", "Shape", "Squeeze", "Stack", "StopGradient", "Swapaxes", "Tile", "Transpose", "ZerosLike"),
        *("Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual", "LogicalAnd", "LogicalNot", "LogicalOr"),
        *("Isfinite", "Isinf", "Isnan", "Argmax", "Argmin", "Any", "All"),
    ]
)
KNOWN_OPERATIONS = _ARITHMETIC.keys() | _MOVING


def operation_of(op: str) -> str | None:
    """Return the class of the operation that runs an op."""
    return next((name for name, run in _ARITHMETIC.items() if run == op), None)
