"""The line that made a layer, in the place of the line that runs a whole model."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.diagnose.graph.made_before import layer_made_before
from tensorsleuth.diagnose.source_lines import code_at
from tensorsleuth.trace.process.creations import Creations
from tensorsleuth.trace.process.process import ProcessTrace

_KERAS_LOOPS = (".fit(", ".train_on_batch(", ".evaluate(", ".test_on_batch(", ".predict(")
_OWN_CALL = "call"  # the method of a layer that the program wrote


class LayerLines:
    """Tells which line to change if an op of a layer is at fault."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._creations = process.cached(Creations)

    def line(self, site: Site | None, layer: str | None, op: str) -> Frame | None:
        """Return the line of an op, or the line that made its layer if the op's line runs a whole model."""
        frame = site.frame if site is not None else None
        made = self._creations.of_path(layer) if layer is not None else None
        inner = self._creations.operation(op, made) if made is not None and made.kind == "model" else None
        if inner is not None and (frame is None or self._does_not_spell(frame, op)):
            return replace(inner.frame, shown_at=frame, layer=layer)
        if made is not None and (frame is None or self._runs_model(site, layer or "", op)):
            return replace(made.frame, shown_at=frame, layer=layer)
        if made is None and layer is not None and self._is_unknown and self._runs_any_model(frame):
            before = layer_made_before(self._process, layer.rpartition("/")[2], frame)
            if before is not None:
                return replace(before, layer=layer)
        return replace(frame, layer=layer) if frame is not None else None

    @property
    def _is_unknown(self) -> bool:
        """Return whether the layers may be older than the recording: none was noted."""
        return not any(one.kind in ("layer", "model") for one in self._process.catalogue.creations)

    def _runs_any_model(self, frame: Frame | None) -> bool:
        return frame is not None and runs_keras_loop(self._process, frame)

    def _runs_model(self, site: Site | None, layer: str, op: str) -> bool:
        """Return whether the line calls something that calls the layer, and does not spell the op itself."""
        if site is None or site.frame is None:
            return False
        if runs_keras_loop(self._process, site.frame):
            return True
        is_in_own_layer = any(frame.function == _OWN_CALL for frame in site.frames[: site.user_index + 1])
        if self._creations.depth(layer, is_in_own_layer) < 2:
            return False
        return self._does_not_spell(site.frame, op)

    def _does_not_spell(self, frame: Frame, op: str) -> bool:
        """Return whether a line calls something, as a model, and does not have the op itself."""
        if runs_keras_loop(self._process, frame):
            return True
        expressions = self._process.cached(Expressions)
        return expressions.calls_object(frame) and expressions.of_op(frame, op) is None


def runs_keras_loop(process: ProcessTrace, frame: Frame) -> bool:
    """Return whether it is a line that runs a whole model, as `fit` does."""
    return any(loop in (code_at(process, frame) or "") for loop in _KERAS_LOOPS)
