"""Images as PNG: enough of the format for arrays of one, three or four channels."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

_COLOUR = {1: 0, 2: 4, 3: 2, 4: 6}  # PNG's colour type, by number of channels


def as_bytes(image: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """Return pixels from 0 to 255. Integers stay; others are scaled from 0…1, or from their smallest to largest."""
    if image.dtype == np.uint8:
        return image.view(np.uint8)
    values = np.nan_to_num(image.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if image.dtype.kind in "iu":
        return np.clip(values, 0, 255).astype(np.uint8)
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if low < 0 or high > 1:
        values = (values - low) / (high - low)
    return (values * 255 + 0.5).astype(np.uint8)


def encode(image: npt.NDArray[np.uint8]) -> bytes:
    """Return an image [height, width, channels] as a PNG."""
    height, width, channels = image.shape
    lines = np.ascontiguousarray(image).reshape(height, width * channels)
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), lines], axis=1)  # each line: filter 0, then pixels
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR[channels], 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes())), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
