"""The arguments of `watch`, parsed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorsleuth.core.dtypes import DTYPES, STRING, DTypeKind
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.structure.selector import Selector, TensorRole, read_watch_selectors

MEASURES = {
    "scalar": MeasureFlag.SCALAR,
    "norm": MeasureFlag.NORM,
    "histogram": MeasureFlag.HISTOGRAM,
    "quantiles": MeasureFlag.QUANTILES,
    "image": MeasureFlag.IMAGE,
    "text": MeasureFlag.TEXT,
    "value": MeasureFlag.VALUE,
}
DEFAULT_MEASURES = MeasureFlag.SCALAR | MeasureFlag.NORM | MeasureFlag.HISTOGRAM | MeasureFlag.TEXT


@dataclass(frozen=True, eq=False)
class WatchRequest:
    """The tensors to watch, the interval, and the measures."""

    text: str
    selectors: tuple[Selector, ...]
    every: int
    what: MeasureFlag

    def wants_tensor(self, tensor_role: TensorRole, dtype: int) -> bool:
        """Return whether to watch the output of an op. Variables are excluded: they are sampled when a step ends."""
        known = DTYPES.get(dtype)
        number = known is not None and known.kind is not DTypeKind.OTHER
        if not (number or (dtype == STRING and self.what & MeasureFlag.TEXT)) or tensor_role.type in ops.STATIC_VALUES:
            return False
        if tensor_role.type in ops.CONTROL_FLOW and not tensor_role.is_gradient:
            return False  # the tensors inside the called function are watched instead
        kinds = (selector for selector in self.selectors if selector.kind not in ("variable", "update"))
        return any(selector.wants(tensor_role) for selector in kinds if selector.kind or not _reads(tensor_role))

    @property
    def is_about_functions(self) -> bool:
        """Return whether it selects tensors inside functions."""
        return any(selector.kind in ("op", "name", "layer", "gradient") for selector in self.selectors)

    def wants_variable(self, name: str, trainable: bool) -> bool:
        """Return whether to watch a variable. A plain name excludes the optimizer's variables of similar names."""
        tensor_role = TensorRole(name, "variable", variable=name)
        kinds = ("", "variable") if trainable else ("variable",)
        return any(selector.wants(tensor_role) for selector in self.selectors if selector.kind in kinds)

    def wants_update(self, name: str) -> bool:
        tensor_role = TensorRole(name, "variable", variable=name)
        return any(selector.wants(tensor_role) for selector in self.selectors if selector.kind == "update")

    def wants_gradient(self, name: str) -> bool:
        """Return whether to watch an eager gradient. Gradients in functions are ordinary tensors."""
        tensor_role = TensorRole(name, "gradient", gradient_of=(name,))
        return any(selector.wants(tensor_role) for selector in self.selectors if selector.kind == "gradient")

    def wants_gradient_tensor(self, tensor_role: TensorRole) -> bool:
        """Return whether a selector asks for this tensor of a function as a gradient."""
        return any(selector.kind == "gradient" and selector.wants(tensor_role) for selector in self.selectors)


def _reads(tensor_role: TensorRole) -> bool:
    return tensor_role.variable is not None or tensor_role.type in ops.VARIABLE_READS


def make_watch_request(tensors: str | Sequence[str], every: int, what: str | Sequence[str] | None) -> WatchRequest:
    """Check the user's arguments. Raise SleuthError if one is wrong."""
    return WatchRequest(str(tensors), read_watch_selectors(tensors), checked_every(every), read_measures(what))


def checked_every(every: int) -> int:
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise SleuthError(f"every is {every!r}; it must be a number of steps, from 1 on.")
    return every


def read_measures(what: str | Sequence[str] | None) -> MeasureFlag:
    """Return the measures as flags; the default ones for None."""
    if what is None:
        return DEFAULT_MEASURES
    names = [what] if isinstance(what, str) or not isinstance(what, Iterable) else list(what)
    if not names or not all(isinstance(name, str) for name in names):
        raise SleuthError(f"what is {what!r}; it must be one or more of {', '.join(MEASURES)}.")
    asked = MeasureFlag(0)
    for name in names:
        if name not in MEASURES:
            near = difflib.get_close_matches(name, MEASURES, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SleuthError(f"what has no {name!r}.{hint} It must be one or more of {', '.join(MEASURES)}.")
        asked |= MEASURES[name]
    return asked
