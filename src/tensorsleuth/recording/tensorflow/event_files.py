"""Writes TensorBoard's event files with TensorFlow's protocol buffers and record writer, without running ops.

It writes summaries of TensorFlow 1 (simple_value, histo, image), which every TensorBoard and other readers can show.
It avoids tf.summary, which would run ops in the program and use the program's default writer.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import summary_pb2, tensor_pb2
from tensorflow.core.util import event_pb2
from tensorflow.python.framework import dtypes


class EventFile:
    """One event file, created by the first write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def scalar(self, tag: str, step: int, seconds: float, value: float) -> None:
        self._add(step, seconds, summary_pb2.Summary.Value(tag=tag, simple_value=value))

    def histogram(self, tag: str, step: int, seconds: float, numbers: dict[str, float], limits: Any, bins: Any) -> None:
        """Add a histogram. `numbers`: min, max, num, sum, sum_squares. `limits`: the upper limit of each bin."""
        proto = summary_pb2.HistogramProto(bucket_limit=limits.tolist(), bucket=bins.tolist(), **numbers)
        self._add(step, seconds, summary_pb2.Summary.Value(tag=tag, histo=proto))

    def image(self, tag: str, step: int, seconds: float, size: tuple[int, int, int], png: bytes) -> None:
        height, width, channels = size
        image = summary_pb2.Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=png)
        self._add(step, seconds, summary_pb2.Summary.Value(tag=tag, image=image))

    def text(self, tag: str, step: int, seconds: float, texts: Sequence[str]) -> None:
        metadata = summary_pb2.SummaryMetadata()
        metadata.plugin_data.plugin_name = "text"
        tensor = tensor_pb2.TensorProto(dtype=dtypes.string.as_datatype_enum)
        tensor.tensor_shape.dim.add(size=len(texts))
        tensor.string_val.extend(text.encode() for text in texts)
        self._add(step, seconds, summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata))

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _add(self, step: int, seconds: float, value: Any) -> None:
        if self._writer is None:
            self._open()
        event = event_pb2.Event(wall_time=seconds, step=step, summary=summary_pb2.Summary(value=[value]))
        self._writer.write(event.SerializeToString())

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        # A name that TensorBoard recognises, and that no other writer in this folder uses.
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{time.time_ns()}.sleuth"
        )
        self._writer = tf.io.TFRecordWriter(str(self._folder / name))
        self._writer.write(event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
