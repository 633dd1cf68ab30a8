"""Layer statistics of compiled functions: reruns a sampled call without XLA."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.modes import Mode
from tensorsleuth.live.layer_stats.functions import FunctionLayerStats
from tensorsleuth.live.layer_stats.selection import LayerStatsSelection
from tensorsleuth.live.layer_stats.series import LayerSeriesRegistry
from tensorsleuth.native import loader
from tensorsleuth.recording.functions.probes import FunctionInstance
from tensorsleuth.recording.observer import FunctionCall
from tensorsleuth.recording.observers import EmptySelection
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.replay.free_memory import has_room_for_another
from tensorsleuth.recording.structure.tensor_roles import TensorRoles

REPLAY = "replay"
NOT_COVERED = "attention, layers and gradients of functions that XLA compiles"


class CompiledLayerStats:
    """Chooses the calls to rerun, and the tensors to measure in them."""

    def __init__(
        self, recorder: Recorder, native: loader.Native, book: LayerSeriesRegistry, tensor_roles: TensorRoles
    ) -> None:
        self._recorder = recorder
        self._functions = FunctionLayerStats(recorder, native, book, tensor_roles, REPLAY)
        self._looked: dict[str, int] = {}  # function -> the step of its latest rerun
        self._said = False  # the lack of memory was reported
        settings = replace(recorder.settings, mode=Mode.NO_TENSOR)
        self.selection = LayerStatsSelection(settings, EmptySelection(settings), self)

    def placed(self, function_instance: FunctionInstance) -> frozenset[str]:
        return self._functions.placed(function_instance)

    def wants(self, call: FunctionCall) -> bool:
        """Return whether to rerun a call that has returned: the first call of its function in a sampled step."""
        step = self._recorder.steps.number
        if self._looked.get(call.name) == step:
            return False
        self._looked[call.name] = step
        if has_room_for_another():
            return True
        if not self._said:
            self._said = True
            self._recorder.catalog.not_covered(NOT_COVERED, "there is too little free memory to run it again")
        return False
