"""Integer and boolean inputs of functions that train: their consumers, and the line where they come in."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import EagerOp, Frame, Function, Instance
from tensorsleuth.core.dtypes import DTYPES, Kind, is_float
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT, READS, VIEWS
from tensorsleuth.diagnose.graph.loss_reduction import is_plain_sum
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.inputs.input_parts import SLICE, Cut, Part, cut_of
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries

GATHERS = frozenset(["GatherV2", "ResourceGather"])
LOSS = "SparseSoftmaxCrossEntropyWithLogits"
FAR = 30  # ops from a mask to the softmax
# How masks are made and put on scores, from what is given.
MASKING = frozenset(
    [
        "AddV2", "Add", "Sub", "Mul", "RealDiv", "Neg", "SelectV2", "Select", "Cast", "LogicalAnd", "LogicalOr",
        "LogicalNot", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "Minimum", "Maximum",
        "StridedSlice", "Tile", "BroadcastTo", "MatrixBandPart",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Lookup:
    """Ids, and the variable that they are looked up in."""

    ids: Part
    spot: Spot
    variable: str
    rows: int


class Given:
    """Asked about the functions of one process that train."""

    def __init__(self, process: ProcessTrace) -> None:
        self.training = process.once(Training)
        self._series = process.once(Inside).inputs
        self._flow = self.training.moments.flow

    @cached_property
    def known(self) -> dict[int, WatchedSeries]:
        """By the tensor that has it: an argument of what Python calls, or a part of a batch."""
        found: dict[int, WatchedSeries] = {}
        for instance, function in self.training.instances:
            if instance.id in self.training.roots:
                found |= self._paired(function, None, list(_arguments(instance, function)))
            for node in function.nodes:
                if node.type in INPUT:
                    first = instance.first + node.first
                    tensors = [first + at for at, dtype in enumerate(node.dtypes) if _is_looked_at(dtype)]
                    found |= self._paired(function, node.name, tensors)
        return found

    def _paired(self, function: Function, op: str | None, tensors: list[int]) -> dict[int, WatchedSeries]:
        """Series were made in the order of the tensors."""
        title = program_name(function.name)
        series = [one for one in self._series if one.op == op and one.name.startswith(f"{title}/")]
        return dict(zip(tensors, series, strict=True)) if len(series) == len(tensors) else {}

    @cached_property
    def lookups(self) -> list[Lookup]:
        """Yield the lookups in variables with a row for each id."""
        found = [one for spot in self.training.forward(GATHERS) for one in self._lookup(spot)]
        return list({(one.ids.series.name, str(one.ids.cut), one.variable): one for one in found}.values())

    def _lookup(self, spot: Spot) -> Iterator[Lookup]:
        ids, table = self.origin(spot, 1), self.table(spot)
        if ids is not None and table is not None:
            yield Lookup(ids, spot, *table)

    def table(self, spot: Spot) -> tuple[str, int] | None:
        """The name and the rows of the variable that an op looks things up in."""
        handle = self.training.handle(spot) if spot.type in READS else None
        for source in self.training.around.inputs(spot)[0] if handle is None else ():
            handle = self.training.handle(source) if source.type in READS else handle
        root = self._function(self.training.root_of(spot))
        for captured in root.captures.values() if handle is not None else ():
            shape = captured.get("shape")
            if captured.get("uid") == handle and isinstance(shape, list) and len(shape) == 2:
                return str(captured.get("variable", "")).partition(":")[0], int(shape[0])
        return None

    @cached_property
    def labels(self) -> list[tuple[Part, Spot]]:
        """Yield the labels of each softmax cross-entropy."""
        found = ((self.origin(spot, 1), spot) for spot in self.training.forward((LOSS,)))
        return [(part, spot) for part, spot in found if part is not None]

    def origin(self, spot: Spot, slot: int) -> Part | None:
        """Return the function input behind an op's input, unchanged but for its type and shape, or sliced once."""
        cut: Cut = ()
        for _ in range(FAR):
            if spot.instance is None:
                return None
            slots = self._flow.slots(spot.instance, spot.node)
            sources = slots[slot] if slot < len(slots) else []
            if len(sources) != 1:
                return None
            if sources[0].tensor in self.known:
                return Part(self.known[sources[0].tensor], cut)
            before = self.made_by(sources[0].tensor)
            if before is None or not self._hands_on(before):
                return None
            if before.type == SLICE:
                found = cut_of(before) if not cut else None
                if found is None:
                    return None
                cut = found
            spot, slot = before, 2 if before.type == "SelectV2" else 0  # Keras counts negative ids from the end
        return None

    def _hands_on(self, spot: Spot) -> bool:
        """Are integers what they were before an op, but for a cut.

        Keras counts negative ids from the end; Hugging Face clips labels of -100, and leaves them out afterwards. A
        constant that is picked is another label.
        """
        if spot.type == "SelectV2":
            return not any(one.type == "Const" for one in self.training.around.inputs(spot)[1])
        return spot.type in ("Cast", "Relu", SLICE)

    def cut_of_logits(self, loss: Spot) -> Cut:
        """Return the positions of the logits that a loss takes: a model that shifts the labels drops the last one."""
        spot = loss
        for _ in range(FAR):
            slots = self.training.around.inputs(spot)
            if not slots or len(slots[0]) != 1 or slots[0][0].type not in (*VIEWS, "Cast", SLICE):
                return ()
            spot = slots[0][0]
            if spot.type == SLICE:
                return (cut_of(spot) or ())[:2]
        return ()

    def masks(self, softmax: Spot) -> dict[str, tuple[WatchedSeries, Spot]]:
        """Return the inputs that mask a softmax, by name, with the first op that consumes each."""
        found: dict[str, tuple[WatchedSeries, Spot]] = {}
        for tensor, spot in self.laid_on(softmax):
            if tensor in self.known:
                found.setdefault(self.known[tensor].name, (self.known[tensor], spot))
        return found

    def laid_on(self, softmax: Spot) -> Iterator[tuple[int, Spot]]:
        """All tensors that masks are made of, with the op that takes each, the nearest first."""
        level, seen = [softmax], {softmax}
        for _ in range(FAR):
            following = []
            for spot in level:
                assert spot.instance is not None
                for source in (one for slot in self._flow.slots(spot.instance, spot.node) for one in slot):
                    yield source.tensor, spot
                    before = self.made_by(source.tensor)
                    if before is not None and before.type in MASKING and before not in seen:
                        seen.add(before)
                        following.append(before)
            level = following

    def is_plain_sum(self, loss: Spot, but_ignored: bool = False, even: Set[Spot] = frozenset()) -> bool:
        """As `loss_reduction` has it."""
        return is_plain_sum(self.training.around, loss, but_ignored, even)

    def others(self, spot: Spot, known: Spot) -> list[int]:
        """The tensors that an op takes, but for those of another op."""
        assert spot.instance is not None
        sources = [one.tensor for slot in self._flow.slots(spot.instance, spot.node) for one in slot]
        return [one for one in sources if self.made_by(one) != known]

    def entry(self, spot: Spot) -> Frame | None:
        """The line that calls the function in which an op is run."""
        sites = (self.training.process.catalogue.sites.get(op.site) for op in self._calls(spot))
        return next((site.frame for site in sites if site is not None and site.frame is not None), None)

    def is_compiled(self, spot: Spot) -> bool:
        """Is an op run by XLA: such a function is called as it is, not as our copy."""
        return all(op.instance < 0 for op in self._calls(spot))

    def _calls(self, spot: Spot) -> list[EagerOp]:
        """The places that call the function in which an op is run."""
        root = self.training.root_of(spot)
        name = self._function(root).name
        eager = self.training.process.catalogue.eager
        return [op for op in eager.values() if op.instance == root or op.type == name]

    def made_by(self, number: int) -> Spot | None:
        """The op in a function that puts a tensor out."""
        tensor = self.training.process.tensor(number)
        if tensor is None or tensor.node is None or tensor.function is None:
            return None
        return Spot(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node))

    def _function(self, root: int) -> Function:
        catalogue = self.training.process.catalogue
        return catalogue.functions[catalogue.instances[root].function]


def _arguments(instance: Instance, function: Function) -> Iterator[int]:
    for number, dtype in enumerate(function.argument_dtypes):
        if number not in function.captures and _is_looked_at(dtype):
            yield instance.first + number


def _is_looked_at(dtype: int) -> bool:
    """As live/layer_stats/inputs.py has it."""
    known = DTYPES.get(dtype)
    return known is not None and known.kind is not Kind.OTHER and not is_float(dtype)
