"""Rules for the dimensions of an op's output, from those of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tensorsleuth.analyze.memory.batch_size.dims import Dim, Dims, broadcast, fixed_dim, fixed_dims, reshaped, shape_of

Shape = tuple[int, ...]


@dataclass(frozen=True)
class OpApplication:
    """One op that ran, with its inputs, and the recorded shape of an output if there is one."""

    type: str
    output: int
    inputs: Sequence[Dims | None]
    shape: Shape | None
    attrs: dict[str, Any] = field(default_factory=dict)
    constants: Sequence[tuple[int, ...] | None] = ()  # inputs that are constants of the graph
    shape_like: Dims | None = None  # the dimensions of the tensor whose shape the op has to produce

    def input_dims(self, number: int) -> Dims | None:
        return self.inputs[number] if number < len(self.inputs) else None

    def constant(self, number: int) -> tuple[int, ...] | None:
        return self.constants[number] if number < len(self.constants) else None


ShapeRule = Callable[[OpApplication], Dims | None]


def dims_of(op_application: OpApplication) -> Dims | None:
    """Return an output's dimensions: by the op's own rule, else elementwise, else by equal sizes, else None."""
    for rule in (_RULES.get(op_application.type, _elementwise), _requested_shape, _regrouped, _by_sizes):
        found = _as_seen(rule(op_application), op_application.shape)
        if found is not None:
            return found
    return None


def _as_seen(dims: Dims | None, shape: Shape | None) -> Dims | None:
    """Return the dimensions with the recorded shape; a rule that contradicts the shape does not apply."""
    if dims is None or shape is None:
        return dims
    if len(dims) != len(shape):
        return None
    return tuple(one.resized(size) for one, size in zip(dims, shape, strict=True))


# ---- rules


def _elementwise(op_application: OpApplication) -> Dims | None:
    known = [dims for dims in op_application.inputs if dims is not None]
    found = broadcast(known) if known else None
    return found if found is not None and op_application.shape in (None, shape_of(found)) else None


def _requested_shape(op_application: OpApplication) -> Dims | None:
    """Return the dimensions of the tensor whose shape the op has to produce."""
    like = op_application.shape_like
    return like if like is not None and op_application.shape in (None, shape_of(like)) else None


def _regrouped(op_application: OpApplication) -> Dims | None:
    """Return the elements of an input in another shape, if one has as many."""
    found = (
        reshaped(dims, op_application.shape)
        for dims in op_application.inputs
        if dims and op_application.shape is not None
    )
    return next((dims for dims in found if dims is not None and any(one.grows for one in dims)), None)


def _by_sizes(op_application: OpApplication) -> Dims | None:
    """Match each dimension with a growing one of the same size: at the same place, else anywhere, but only once."""
    known = [dims for dims in op_application.inputs if dims is not None]
    if op_application.shape is None or not any(known):
        return None
    left = [one for dims in known for one in dims if one.grows]
    found = []
    for place, size in enumerate(op_application.shape):
        here = [
            dims[place] for dims in known if len(dims) == len(op_application.shape or ()) and dims[place].size == size
        ]
        same = [one for one in here if one.grows] or [one for one in left if one.size == size and not here]
        if same and same[0] in left:
            left.remove(same[0])
        found.append(same[0] if same else fixed_dim(size))
    return tuple(found)


def _first(op_application: OpApplication) -> Dims | None:
    return op_application.input_dims(0)


def _like(number: int) -> ShapeRule:
    return lambda step: step.input_dims(number)


def _nothing_grows(op_application: OpApplication) -> Dims | None:
    return fixed_dims(op_application.shape) if op_application.shape is not None else None


def _matmul(op_application: OpApplication) -> Dims | None:
    """Return a matrix product's dimensions, also in batches. An eager op's transposes follow from its shape."""
    a, b = op_application.input_dims(0), op_application.input_dims(1)
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    for flip_a, flip_b in _flips(op_application):
        rows, inner = (a[-1], a[-2]) if flip_a else (a[-2], a[-1])
        other, columns = (b[-1], b[-2]) if flip_b else (b[-2], b[-1])
        outer = broadcast([a[:-2], b[:-2]])
        if outer is None or inner.size != other.size:
            continue
        found = (*outer, rows, columns)
        if op_application.shape in (None, shape_of(found)):
            return found
    return None


def _flips(op_application: OpApplication) -> Sequence[tuple[bool, bool]]:
    for names in (("transpose_a", "transpose_b"), ("adj_x", "adj_y")):
        if names[0] in op_application.attrs:
            return [(bool(op_application.attrs[names[0]]), bool(op_application.attrs.get(names[1])))]
    return [(False, False), (False, True), (True, False), (True, True)]


def _einsum(op_application: OpApplication) -> Dims | None:
    equation = op_application.attrs.get("equation")
    if not isinstance(equation, str) or "." in equation or "->" not in equation:
        return None
    takes, makes = equation.replace(" ", "").split("->")
    known: dict[str, Dim] = {}
    for labels, dims in zip(takes.split(","), op_application.inputs, strict=False):
        for label, one in zip(labels, dims or (), strict=False):
            if label not in known or one.grows:
                known[label] = one
    return tuple(known[label] for label in makes) if all(label in known for label in makes) else None


def _reshape(op_application: OpApplication) -> Dims | None:
    dims, like = op_application.input_dims(0), op_application.shape_like
    if like is not None and op_application.shape in (None, shape_of(like)):
        return like
    if dims is None:
        return None
    shape = op_application.shape or _filled(op_application.constant(1), dims)
    return reshaped(dims, shape if shape is not None else (prod(shape_of(dims)),))  # unknown shape: as one row


def _filled(shape: Shape | None, dims: Dims) -> Shape | None:
    """Fill in the size that -1 stands for."""
    if shape is None or shape.count(-1) > 1:
        return None
    others = prod(size for size in shape if size != -1)
    rest = prod(shape_of(dims)) // others if others else 0
    return tuple(rest if size == -1 else size for size in shape)


def _transpose(op_application: OpApplication) -> Dims | None:
    dims, order = op_application.input_dims(0), op_application.constant(1)
    if dims is None or order is None or sorted(order) != list(range(len(dims))):
        return None
    return tuple(dims[place] for place in order)


def _reduce(op_application: OpApplication) -> Dims | None:
    dims, axes = op_application.input_dims(0), op_application.constant(1)
    if dims is None:
        return None
    if axes is None:
        return _kept(dims, op_application.shape)
    gone = {axis % len(dims) for axis in axes} if dims else set()
    keeps = bool(op_application.attrs.get("keep_dims"))
    return tuple(fixed_dim(1) if place in gone else one for place, one in enumerate(dims) if keeps or place not in gone)


def _kept(dims: Dims, shape: Shape | None) -> Dims | None:
    """Return the dimensions that were kept, from the sizes."""
    if shape is None:
        return None
    if len(shape) == len(dims):
        return tuple(one if one.size == size else fixed_dim(size) for one, size in zip(dims, shape, strict=True))
    found, rest = [], list(dims)
    for size in shape:
        while rest and rest[0].size != size:
            rest.pop(0)
        found.append(rest.pop(0) if rest else fixed_dim(size))
    return tuple(found)


def _convolution(data: int) -> ShapeRule:
    """Return a rule: all dimensions but the channels come from the images, the channels from the filter."""

    def rule(op_application: OpApplication) -> Dims | None:
        dims, shape = op_application.input_dims(data), op_application.shape
        if dims is None or shape is None or len(dims) != len(shape):
            return None
        channels = 1 if str(op_application.attrs.get("data_format", "")).startswith("NC") else len(shape) - 1
        return tuple(fixed_dim(shape[at]) if at == channels else one for at, one in enumerate(dims))

    return rule


def _gather(op_application: OpApplication) -> Dims | None:
    """Return the dimensions of rows of a table: those of the indices, then those of a row."""
    table, numbers = op_application.input_dims(0), op_application.input_dims(1)
    if numbers is None:
        return None
    if table is not None and (op_application.constant(2) or (0,)) == (0,):
        return (*numbers, *table[1:])
    return (*numbers, *fixed_dims(op_application.shape[len(numbers) :])) if op_application.shape is not None else None


def _one_hot(op_application: OpApplication) -> Dims | None:
    dims, shape = op_application.input_dims(0), op_application.shape
    return (*dims, fixed_dim(shape[-1])) if dims is not None and shape else None


def _pack(op_application: OpApplication) -> Dims | None:
    dims = op_application.input_dims(0)
    if dims is None:
        return None
    at = int(op_application.attrs.get("axis", 0)) % (len(dims) + 1)
    return (*dims[:at], fixed_dim(len(op_application.inputs)), *dims[at:])


def _unpack(op_application: OpApplication) -> Dims | None:
    dims = op_application.input_dims(0)
    if not dims:
        return None
    at = int(op_application.attrs.get("axis", 0)) % len(dims)
    return (*dims[:at], *dims[at + 1 :])


def _slice(op_application: OpApplication) -> Dims | None:
    """Return the dimensions after a slice: indices remove some, `None` adds some."""
    dims = op_application.input_dims(0)
    masks = [int(op_application.attrs.get(name, 0)) for name in ("shrink_axis_mask", "new_axis_mask", "ellipsis_mask")]
    if dims is None:
        return None
    if not any(masks[1:]):
        found = tuple(one for place, one in enumerate(dims) if not masks[0] >> place & 1)
        if op_application.shape is None or len(found) == len(op_application.shape):
            return found
    return _kept(dims, op_application.shape)


def _concatenate(op_application: OpApplication) -> Dims | None:
    known = [
        dims
        for dims in op_application.inputs
        if dims and op_application.shape is not None and len(dims) == len(op_application.shape)
    ]
    return tuple(max(column, key=lambda one: one.grows) for column in zip(*known, strict=True)) if known else None


def _cross_entropy(op_application: OpApplication) -> Dims | None:
    dims = op_application.input_dims(0)
    return dims if dims is None or op_application.output else dims[:1]


def _normalized(op_application: OpApplication) -> Dims | None:
    return (
        (op_application.input_dims(0) or op_application.input_dims(1))
        if op_application.output == 0
        else _nothing_grows(op_application)
    )


def _rules(*groups: tuple[str, ShapeRule]) -> dict[str, ShapeRule]:
    return {name: rule for names, rule in groups for name in names.split()}


_RULES = _rules(
    ("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", _matmul),
    ("Einsum", _einsum),
    ("Reshape ExpandDims Squeeze", _reshape),
    ("Transpose ConjugateTranspose", _transpose),
    ("Sum Mean Max Min Prod All Any ArgMax ArgMin EuclideanNorm", _reduce),
    ("Conv2D Conv3D DepthwiseConv2dNative", _convolution(0)),
    ("Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput", _convolution(2)),
    ("Conv2DBackpropFilter Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropFilter BiasAddGrad", _nothing_grows),
    ("ReadVariableOp VariableV2 Const", _nothing_grows),
    ("MaxPool AvgPool MaxPoolV2 MaxPool3D AvgPool3D MaxPoolGrad MaxPool3DGrad BiasAdd Cast", _first),
    ("Split Pad PadV2 MirrorPad Tile ResizeBilinear ResizeNearestNeighbor", _first),
    ("AvgPoolGrad SplitV", _like(1)),
    ("Gather GatherV2 ResourceGather", _gather),
    ("OneHot", _one_hot),
    ("Pack", _pack),
    ("Unpack", _unpack),
    ("StridedSlice Slice", _slice),
    ("ConcatV2", _concatenate),
    ("SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits", _cross_entropy),
    ("FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 FusedBatchNormGradV3", _normalized),
)
