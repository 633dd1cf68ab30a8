"""Integer and boolean inputs of functions that train: their consumers, and the line where they come in."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property

from tensorsleuth.core.catalog import EagerOp, Frame, Function, Instance
from tensorsleuth.core.dtypes import DTYPES, DTypeKind, is_float
from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT_OPS, VARIABLE_READS, VIEWS
from tensorsleuth.core.ops.masks import MASK_MAKING_OPS
from tensorsleuth.core.ops.reductions import SPARSE_CROSS_ENTROPY
from tensorsleuth.core.series import OF_LAYER_STATS
from tensorsleuth.diagnose.graph.loss_reduction import is_unweighted_sum
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.inputs.input_parts import SLICE_OP, InputPart, Slices, slices_of
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MAX_HOPS_TO_INPUT = 30  # ops from a mask to the softmax


@dataclass(frozen=True)
class TableLookup:
    """Ids, and the variable that they are looked up in."""

    ids: InputPart
    gather: OpNode
    variable: str
    rows: int


class ModelInputs:
    """The inputs of the training functions of one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self.training = process.cached(TrainingGraph)
        self._series = process.cached(LayerStatistics).inputs
        self._flow = self.training.call_graphs.flow

    @cached_property
    def series_by_tensor(self) -> dict[int, WatchedSeries]:
        """Return the series by tensor: an argument of a function that Python calls, or a part of a batch."""
        found: dict[int, WatchedSeries] = {}
        for instance, function in self.training.instances:
            if instance.id in self.training.roots:
                found |= self._paired(function, None, list(_arguments(instance, function)))
            for node in function.nodes:
                if node.type in INPUT_OPS:
                    first = instance.first_tensor + node.first_output
                    tensors = [first + at for at, dtype in enumerate(node.dtypes) if _is_recorded_dtype(dtype)]
                    found |= self._paired(function, node.name, tensors)
        return found

    def _paired(self, function: Function, op: str | None, tensors: list[int]) -> dict[int, WatchedSeries]:
        """Pair series with tensors: both are in the same order."""
        title, seen = program_name(function.name), {one.number: one for one in self._series}
        known = sorted(self.training.process.catalogue.series.items())
        numbers = [
            number
            for number, one in known
            if (one.owner, one.kind, one.trains, one.op) == (OF_LAYER_STATS, "input", True, op)
            and one.name.startswith(f"{title}/")
        ]
        pairs = zip(tensors, numbers, strict=True) if len(numbers) == len(tensors) else ()
        return {tensor: seen[number] for tensor, number in pairs if number in seen}  # else nothing takes it

    @cached_property
    def lookups(self) -> list[TableLookup]:
        """Return the lookups in variables with a row for each id."""
        found = [one for spot in self.training.forward_ops(EMBEDDING_LOOKUPS) for one in self._lookup(spot)]
        return list({(one.ids.series.name, str(one.ids.slices), one.variable): one for one in found}.values())

    def _lookup(self, op_node: OpNode) -> Iterator[TableLookup]:
        ids, table = self.input_behind(op_node, 1), self.table_of(op_node)
        if ids is not None and table is not None:
            yield TableLookup(ids, op_node, *table)

    def table_of(self, op_node: OpNode) -> tuple[str, int] | None:
        """Return the name and the rows of the variable that an op reads."""
        handle = self.training.variable_handle(op_node) if op_node.type in VARIABLE_READS else None
        for source in self.training.neighbours.input_ops(op_node)[0] if handle is None else ():
            handle = self.training.variable_handle(source) if source.type in VARIABLE_READS else handle
        root = self._function(self.training.root_id(op_node))
        for captured in root.captures.values() if handle is not None else ():
            shape = captured.get("shape")
            if captured.get("uid") == handle and isinstance(shape, list) and len(shape) == 2:
                return str(captured.get("variable", "")).partition(":")[0], int(shape[0])
        return None

    @cached_property
    def labels(self) -> list[tuple[InputPart, OpNode]]:
        """Return the labels of each softmax cross-entropy."""
        found = ((self.input_behind(spot, 1), spot) for spot in self.training.forward_ops((SPARSE_CROSS_ENTROPY,)))
        return [(part, spot) for part, spot in found if part is not None]

    def input_behind(self, op_node: OpNode, slot: int) -> InputPart | None:
        """Return the function input behind an op's input, unchanged but for its type and shape, or sliced once."""
        cut: Slices = ()
        for _ in range(MAX_HOPS_TO_INPUT):
            if op_node.instance is None:
                return None
            slots = self._flow.input_sources(op_node.instance, op_node.node_index)
            sources = slots[slot] if slot < len(slots) else []
            if len(sources) != 1:
                return None
            if sources[0].tensor in self.series_by_tensor:
                return InputPart(self.series_by_tensor[sources[0].tensor], cut)
            before = self.producer(sources[0].tensor)
            if before is None or not self._keeps_values(before):
                return None
            if before.type == SLICE_OP:
                found = slices_of(before) if not cut else None
                if found is None:
                    return None
                cut = found
            op_node, slot = before, 2 if before.type == "SelectV2" else 0  # Keras counts negative ids from the end
        return None

    def _keeps_values(self, op_node: OpNode) -> bool:
        """Return whether an op keeps integers as they are, except for slicing.

        Keras counts negative ids from the end; Hugging Face clips labels of -100, and leaves them out afterwards. A
        constant that is picked is another label.
        """
        if op_node.type == "SelectV2":
            return not any(one.type == "Const" for one in self.training.neighbours.input_ops(op_node)[1])
        return op_node.type in ("Cast", "Relu", SLICE_OP)

    def logit_slices(self, loss: OpNode) -> Slices:
        """Return the positions of the logits that a loss takes: a model that shifts the labels drops the last one."""
        spot = loss
        for _ in range(MAX_HOPS_TO_INPUT):
            slots = self.training.neighbours.input_ops(spot)
            if not slots or len(slots[0]) != 1 or slots[0][0].type not in (*VIEWS, "Cast", SLICE_OP):
                return ()
            spot = slots[0][0]
            if spot.type == SLICE_OP:
                return (slices_of(spot) or ())[:2]
        return ()

    def masks_of(self, softmax: OpNode) -> dict[str, tuple[WatchedSeries, OpNode]]:
        """Return the inputs that mask a softmax, by name, with the first op that consumes each."""
        found: dict[str, tuple[WatchedSeries, OpNode]] = {}
        for tensor, spot in self.mask_tensors(softmax):
            if tensor in self.series_by_tensor:
                found.setdefault(self.series_by_tensor[tensor].name, (self.series_by_tensor[tensor], spot))
        return found

    def mask_tensors(self, softmax: OpNode) -> Iterator[tuple[int, OpNode]]:
        """Yield all tensors that masks are computed from, each with its consumer, nearest first."""
        level, seen = [softmax], {softmax}
        for _ in range(MAX_HOPS_TO_INPUT):
            following = []
            for spot in level:
                assert spot.instance is not None
                for source in (
                    one for slot in self._flow.input_sources(spot.instance, spot.node_index) for one in slot
                ):
                    yield source.tensor, spot
                    before = self.producer(source.tensor)
                    if before is not None and before.type in MASK_MAKING_OPS and before not in seen:
                        seen.add(before)
                        following.append(before)
            level = following

    def is_unweighted_sum(self, loss: OpNode, but_ignored: bool = False, even: Set[OpNode] = frozenset()) -> bool:
        """As `loss_reduction` has it."""
        return is_unweighted_sum(self.training.neighbours, loss, but_ignored, even)

    def other_inputs(self, op_node: OpNode, known: OpNode) -> list[int]:
        """Return the inputs of an op that do not come from the other op."""
        assert op_node.instance is not None
        sources = [
            one.tensor for slot in self._flow.input_sources(op_node.instance, op_node.node_index) for one in slot
        ]
        return [one for one in sources if self.producer(one) != known]

    def entry(self, op_node: OpNode) -> Frame | None:
        """Return the line that calls the function of an op, with the layer of the op."""
        sites = (self.training.process.catalogue.sites.get(op.site) for op in self._calls(op_node))
        frame = next((site.frame for site in sites if site is not None and site.frame is not None), None)
        return replace(frame, layer=self.training.layer(op_node)) if frame is not None else None

    def is_compiled(self, op_node: OpNode) -> bool:
        """Return whether XLA runs an op: such a function is called itself, not our copy of it."""
        return all(op.instance < 0 for op in self._calls(op_node))

    def _calls(self, op_node: OpNode) -> list[EagerOp]:
        """Return the call sites of the function of an op."""
        root = self.training.root_id(op_node)
        name = self._function(root).name
        eager = self.training.process.catalogue.eager
        return [op for op in eager.values() if op.instance == root or op.type == name]

    def producer(self, number: int) -> OpNode | None:
        """The op in a function that puts a tensor out."""
        tensor = self.training.process.tensor(number)
        if tensor is None or tensor.node is None or tensor.function is None:
            return None
        return OpNode(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node))

    def _function(self, root: int) -> Function:
        catalogue = self.training.process.catalogue
        return catalogue.functions[catalogue.instances[root].function]


def _arguments(instance: Instance, function: Function) -> Iterator[int]:
    for number, dtype in enumerate(function.argument_dtypes):
        if number not in function.captures and _is_recorded_dtype(dtype):
            yield instance.first_tensor + number


def _is_recorded_dtype(dtype: int) -> bool:
    """Return whether live/layer_stats/inputs.py records this dtype."""
    known = DTYPES.get(dtype)
    return known is not None and known.kind is not DTypeKind.OTHER and not is_float(dtype)
