"""One break point: its condition, the tensors to check, the action, and the number of hits to act on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTYPES, DTypeKind, is_float
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.live.breakpoints.condition import ALWAYS, Condition, parse_condition
from tensorsleuth.live.breakpoints.hit import MAX_KEPT_VALUE_BYTES, Hit
from tensorsleuth.live.breakpoints.op_names import JudgedOp
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.structure.selector import Selector, SelectorText, TensorRole, read_selectors

Predicate = Callable[[JudgedOp, Array], Any]
Action = str | Callable[[Hit], Any]
ACTIONS = ("pause", "stop", "record", "save")
# The number of hits to keep.
MAX_KEPT_HITS = 1000


@dataclass(eq=False)
class Breakpoint:
    """The arguments of break_when, parsed."""

    text: str
    condition: Condition
    predicate: Predicate | None
    selectors: tuple[Selector, ...]
    selected: bool  # the user passed `on`
    action: Action
    steps_to_record: int  # for then="record:N"
    hits_left: float  # how many more hits may act
    number: int = -1
    hits: deque[Hit] = field(default_factory=lambda: deque(maxlen=MAX_KEPT_HITS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def floats_only(self) -> bool:
        """Return whether to check floats only. Labels and indices are large by nature, so users must select them."""
        return not self.selected and self.predicate is None and self.condition.needs >= Mode.CURT_HEALTH

    def is_about(self, tensor_role: TensorRole, dtype: int) -> bool:
        """Return whether to check this tensor."""
        known = DTYPES.get(dtype)
        if known is None or known.kind is DTypeKind.OTHER or tensor_role.type in ops.STATIC_VALUES:
            return False
        if tensor_role.type in ops.CONTROL_FLOW and not tensor_role.is_gradient:
            return False  # the tensors inside the called function are checked
        if self.floats_only and (not is_float(dtype) or tensor_role.type in ops.VIEWS):
            return False
        if self.condition.of_variables and not (tensor_role.first_read and (tensor_role.trainable or self.selected)):
            return False
        return any(selector.wants(tensor_role) for selector in self.selectors)

    def predicate_holds(self, op: JudgedOp, value: Array | None) -> bool:
        """Call the predicate. If it raises an exception, return False and report the exception once."""
        if self.predicate is None:
            return True
        if value is None:
            complain(f"break_when({self.text}): the function is called only for values that are on the host.")
            return False
        try:
            return bool(self.predicate(op, value))
        except Exception as error:
            complain(f"break_when({self.text}) raised {type(error).__name__}: {error}; taken as False.")
            return False

    def count(self) -> bool:
        """Count a hit. Return False if the limit was already reached."""
        with self._lock:
            self.hits_left -= 1
            return self.hits_left >= 0

    def keep(self, hit: Hit) -> None:
        small = hit.value is not None and hit.value.nbytes <= MAX_KEPT_VALUE_BYTES
        self.hits.append(hit if small else replace(hit, value=None))


def make_breakpoint(
    condition: str | Predicate, selector_text: SelectorText, then: Action, times: int | None
) -> Breakpoint:
    """Check the user's arguments. Raise SleuthError if one is wrong."""
    predicate = condition if callable(condition) else None
    understood = ALWAYS if predicate is not None else parse_condition(condition)  # type: ignore[arg-type]
    text = condition if isinstance(condition, str) else getattr(condition, "__name__", repr(condition))
    selectors = read_selectors(selector_text, understood.of_gradients, understood.of_variables)
    action, steps = read_action(then)
    return Breakpoint(
        text, understood, predicate, selectors, selector_text is not None, action, steps, _times(times, action)
    )


def read_action(then: Action) -> tuple[Action, int]:
    """Return the action, and the number of steps to record."""
    if callable(then):
        return then, 0
    name, _, number = str(then).partition(":")
    if name not in ACTIONS or (number and (name != "record" or not number.isdigit() or not int(number))):
        raise SleuthError(
            f"then is {then!r}; it must be one of {', '.join(ACTIONS)}, 'record:N' for N steps, "
            "or a function of the hit."
        )
    return name, int(number or 1)


def _times(times: int | None, action: Action) -> float:
    if times is None:
        return 1 if action in ("pause", "record", "save") else float("inf")
    if not isinstance(times, int) or isinstance(times, bool) or times < 1:
        raise SleuthError(f"times is {times!r}; it must be an integer from 1 on, or None.")
    return times
