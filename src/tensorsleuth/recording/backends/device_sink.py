"""Records eager tensors of an accelerator: the device computes a summary, and only the summary is copied."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.device_summary import SUMMARY_DTYPES, can_summarize, summary_function
from tensorsleuth.recording.backends.sink import NativeSink
from tensorsleuth.recording.tensorflow import internals as tf

BAD_COUNTS = slice(5, 8)  # in the summary: −∞, +∞, NaN


class DeviceSink(NativeSink):
    """Writes the device's summaries through the native library."""

    def note_tensor(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool:
        dtype = tensor._datatype_enum()
        if look == Mode.FULL_TENSOR or not can_summarize(dtype, look) or not look:
            return super().note_tensor(
                tensor, number, call, uid, look
            )  # the mode needs either the whole tensor or no data at all
        ran = tf.run_function(summary_function(dtype, look), [tensor], len(SUMMARY_DTYPES), tensor.backing_device)
        counts, moments, dims = (np.ascontiguousarray(output.numpy()) for output in ran)
        view = loader.TensorView(None, tensor.shape.num_elements(), 0, dtype, len(dims))
        view.dims[: min(len(dims), 8)] = dims[:8].tolist()
        row_place = loader.RowPlace(call, number, uid & 0xFFFF_FFFF, uid >> 32, EventKind.EAGER)
        self._native.note_summary(counts.ctypes.data, moments.ctypes.data, view, look, row_place)
        return bool(counts[BAD_COUNTS].any())
