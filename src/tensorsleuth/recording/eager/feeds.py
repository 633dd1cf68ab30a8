"""Values that pass between Python and TensorFlow without an op: fed arrays, and bad tensors that Python reads."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import STRING
from tensorsleuth.core.layout.rows import MIN_BUFFER_BYTES, NO_UID, CallKind
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.eager.op_sites import OpSites
from tensorsleuth.recording.eager.text_inputs import TextInputs
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_NOTED_PER_OP = 8  # how often to record the inputs of an op with bad outputs, for each place in the program
MAX_BAD_READS = 1000  # the most reads to record
MAX_FED_SITES = 100_000  # how many tensors' lines to remember, for the case that an op fails
MAX_DESCRIBED_INPUTS = 4096
SMALL_READ = 1024  # values: losses, metrics, anything that is printed. native/src/eager/buffer_reads.h has it in bytes
_SCALARS = (np.float32, np.float64, np.float16)
_NUMBER_KINDS = "fcV"  # NumPy's kinds: float, complex, and V for other types such as bfloat16


class Feeds:
    """Records the values that the program feeds."""

    def __init__(
        self, op_sites: OpSites, call_sites: CallSites, sink: Sink, texts: Lazy[TextInputs] | None = None
    ) -> None:
        self._places = op_sites
        self._sites = call_sites
        self._sink = sink
        self._texts = texts
        self._noted_times: dict[int, int] = {}
        self._fed_at: dict[int, int] = {}  # the sites of tensors without rows, such as integers, by uid

    def note_conversion(self, value: Any, tensor: Any) -> None:
        """Record a tensor that TensorFlow made of a Python value. Skip finite numbers, which are too many."""
        if isinstance(value, int | float) and math.isfinite(value):
            return
        site = self._sites.of_caller(2)
        self._note(tensor, site)
        if len(self._fed_at) >= MAX_FED_SITES:
            self._fed_at.clear()
        self._fed_at[tensor._id] = site
        if self._texts is not None and tensor._datatype_enum() == STRING:
            self._texts().note_conversion(value, tensor, site)

    def _note(self, tensor: Any, site: int, op: str = FEED, inputs: Sequence[int] = ()) -> None:
        look = self._places.modes_for(op)[tensor._datatype_enum()]
        if (look == DO_NOT_LOOK and not _is_large(tensor)) or self._sink.maker(tensor._id):
            return
        place = self._places.at_site(op, site, 1)
        call = self._sink.next_call()
        self._sink.call(CallKind.OP, call, place[0], time.monotonic_ns(), 0, inputs)
        self._sink.set_maker(tensor._id, place[0])
        if look == DO_NOT_LOOK:
            self._sink.note_buffer(tensor, place[1], call)
        else:
            self._sink.note_tensor(tensor, place[1], call, tensor._id, look)

    def describe_makers(self, inputs: Sequence[Any]) -> dict[str, list[int]]:
        """Return the uid of each input of a call that failed, and the eager op that made it."""
        uids = [_uid_of(value) for value in _tensors(inputs)][:MAX_DESCRIBED_INPUTS]
        return {"makers": [self._maker(uid) for uid in uids], "uids": uids}

    def _maker(self, uid: int) -> int:
        site = self._fed_at.get(uid)
        if site is not None:
            return self._places.at_site(FEED, site, 1)[0]
        return self._sink.maker(uid) if uid != NO_UID else 0

    def maker_of(self, uid: int) -> tuple[str, int]:
        """Return the type and the site of what made a tensor, as far as it is known."""
        op = self._maker(uid)
        return self._places.kind_of(op), self._places.site_of(op)

    def note_external_inputs(self, op: int, inputs: Sequence[Any]) -> list[int]:
        """Record those inputs of an op with bad output that no op made. Return the uids of all inputs."""
        looked = self._noted_times[op] = self._noted_times.get(op, 0) + 1
        return [self._uid(value, op, looked <= MAX_NOTED_PER_OP) for value in _flat(inputs)]

    def _uid(self, value: Any, op: int, look: bool) -> int:
        site = self._places.site_of(op)
        if isinstance(value, tf.EagerTensor):
            if look:
                self._note(value, site)
            return int(value._id)
        handle = getattr(value, "_handle", None)
        tensor = (tf.as_tensor(value) if handle is None else tf_variables.read_variable(value)) if look else None
        if tensor is None:
            return int(getattr(handle, "_id", NO_UID))
        if handle is None:
            self._note(tensor, site)
        else:  # the op itself reads the variable
            self._note(tensor, site, tf_variables.READ_VARIABLE, [handle._id])
        return int(tensor._id)


class BadReads:
    """Notes which tensors with a NaN or an infinity in them become numbers of Python.

    A look at every large array that Python reads would cost as much as the copy itself, mostly for nothing: the op that
    made it was recorded, so if it were bad the sink would know of something bad. So a large array is looked at only if
    the sink does, or if the tensor may have been made unseen. Small ones are always looked at, wherever they come from.
    """

    def __init__(self, catalog: CatalogWriter, call_sites: CallSites, sink: Sink, sees_all_values: bool) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._sink = sink
        self.trusts_rows = sees_all_values
        self._noted: set[int] = set()

    def note_read(self, tensor: Any, value: Any) -> None:
        """Python reads a tensor by one of its methods."""
        if isinstance(value, _SCALARS) and math.isfinite(value):  # a loss, after every batch: no array for that
            return
        if hasattr(value, "dtype") and (value.size <= SMALL_READ or self._may_be_bad(tensor)):  # a text is bytes
            self._note(tensor, value, 4)

    def note_buffer_read(self, tensor: Any) -> None:
        """The program reads a bad tensor through the buffer protocol."""
        self._note(tensor, tf.array_of(tensor), 4)

    def _may_be_bad(self, tensor: Any) -> bool:
        is_trusted = self.trusts_rows and not self._catalog.has_gaps and not self._sink.alarm()
        if is_trusted and self._sink.maker(tensor._id):
            return False
        native = self._sink.native
        return native is None or bool(native.any_bad([tensor]))  # several times as fast as NumPy

    def _note(self, tensor: Any, value: Any, depth: int) -> None:
        if value.dtype.kind not in _NUMBER_KINDS or len(self._noted) >= MAX_BAD_READS:
            return
        finite = np.isfinite(value)
        if not finite.all() and tensor._id not in self._noted:
            self._noted.add(tensor._id)
            has_nan = bool(np.isnan(value).any())
            self._catalog.bad_read(int(tensor._id), self._sites.of_caller(depth), has_nan, bool(finite.any()))


def _is_large(tensor: Any) -> bool:
    """Return whether the tensor's size alone is reason to record its memory."""
    return int(tensor.shape.num_elements()) * int(tensor.dtype.size or 0) >= MIN_BUFFER_BYTES


def _tensors(inputs: Sequence[Any]) -> Iterator[Any]:
    """Yield the inputs of an op, with the tensors of a list one by one; a list of numbers becomes one tensor."""
    for value in inputs:
        if type(value) in (list, tuple) and any(hasattr(one, "_id") for one in value):
            yield from value
        else:
            yield value


def _uid_of(value: Any) -> int:
    """Return the uid of a tensor, or of the handle of a variable."""
    handle = getattr(value, "_handle", None)
    return int(getattr(handle if handle is not None else value, "_id", NO_UID))


def _flat(inputs: Sequence[Any]) -> Iterator[Any]:
    """Yield the inputs one by one, in the order of native/src/eager/eager_hook.cc."""
    for value in inputs:
        if type(value) in (list, tuple):
            yield from value
        else:
            yield value
