"""The feeds and fetches of a session's run: NumPy arrays that no eager op made."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.layout.rows import NO_UID, CallKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.recording.backends.sink import NativeSink
from tensorsleuth.recording.eager.op_sites import OpSite, OpSites
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.tensorflow import sessions as tf_sessions

_uids = itertools.count(1 << 62)  # TensorFlow's uids start at 0


def new_uid() -> int:
    """Return a uid for a value that is not a TensorFlow tensor."""
    return next(_uids)


@dataclass(frozen=True, slots=True)
class SessionValue:
    """An array with those methods of an eager tensor that a sink uses."""

    array: Any
    dtype: int
    uid: int = NO_UID

    @property
    def _id(self) -> int:
        return self.uid

    def _datatype_enum(self) -> int:
        return self.dtype

    def _numpy_internal(self) -> Any:
        return self.array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)


class SessionValues:
    """Records feeds at the line of the run, variables at their creation, and fetches as outputs of their ops."""

    def __init__(self, op_sites: OpSites, sink: NativeSink) -> None:
        self._places = op_sites
        self.sink = sink

    def feed(self, site: int, given: Sequence[tuple[Any, Any]]) -> list[SessionValue]:
        """Record the feeds, pairs of a tensor and its value; a tensor that is not selected has no uid."""
        if not given:
            return []
        place = self._places.at_site(FEED, site, len(given))
        call = self.sink.next_call()
        self.sink.call(CallKind.OP, call, place[0], time.monotonic_ns(), 0, [])
        return [self._feed(tensor, array, place, at, call) for at, (tensor, array) in enumerate(given)]

    def _feed(self, tensor: Any, array: Any, op_site: OpSite, at: int, call: int) -> SessionValue:
        dtype = tf_sessions.datatype(tensor)
        look = op_site[4][dtype]
        session_value = SessionValue(np.asarray(array), dtype, NO_UID if look == DO_NOT_LOOK else new_uid())
        if look != DO_NOT_LOOK:
            self.sink.note_tensor(session_value, op_site[1] + at, call, session_value.uid, look)
        return session_value

    def add_variable(self, op: Any, site: int) -> int:
        """Return the uid of a variable of a session."""
        uid, call = new_uid(), self.sink.next_call()
        place = self._places.at_site("VarHandleOp", site, 1)
        self.sink.call(CallKind.OP, call, place[0], time.monotonic_ns(), 0, [])
        self.sink.note_tensor(SessionValue(None, RESOURCE), place[1], call, uid, Mode.NO_TENSOR)
        return uid

    def note_fetched(self, array: Any, dtype: int, tensor: int, look: Mode, call: int) -> None:
        """Record a fetched value of `tensor`, if no probe has recorded it."""
        self.sink.note_fetched(SessionValue(np.asarray(array), dtype), tensor, call, look)

    def note_returned(self, session_value: SessionValue, number: int, call: int, look: Mode) -> None:
        """Record that Python got a value; `look` is NO_TENSOR if its contents have been recorded."""
        self.sink.note_tensor(session_value, number, call, session_value.uid, look)
