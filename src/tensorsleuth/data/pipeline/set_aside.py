"""Elements that were set aside, in a .npz that NumPy opens: `12/x` is part x of element 12, `12/why.txt` the reason."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation

MAX_ELEMENTS = 1000  # elements
MAX_BYTES = 1 << 28


class SetAsideFile:
    """Appends each element to the file at once, so that all are there however the program ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = self._bytes = 0
        self.full = False
        try:
            zipfile.ZipFile(path, "w").close()  # each run begins a new file
        except OSError as error:
            raise SleuthError(f"cannot write {path}: {error.strerror}. Name another file: aside=…") from error

    def add(self, index: int, element: Mapping[str, Array], found: Sequence[Violation]) -> None:
        size = sum(array.nbytes for array in element.values())
        self.full = self.full or self.written >= MAX_ELEMENTS or self._bytes + size > MAX_BYTES
        if self.full:
            return
        with zipfile.ZipFile(self.path, "a") as archive:
            taken, name = set(archive.namelist()), f"{index}"
            while f"{name}/why.txt" in taken:  # the same element in another epoch
                name += "'"
            for part, array in element.items():
                with archive.open(f"{name}/{part}.npy", "w") as member:
                    np.lib.format.write_array(member, _plain(array), allow_pickle=False)
            archive.writestr(f"{name}/why.txt", "\n".join(str(violation) for violation in found))
        self.written += 1
        self._bytes += size


def _plain(array: Array) -> Array:
    """Return the array without Python objects, which NumPy would pickle."""
    return np.asarray(array, np.bytes_) if array.dtype.kind == "O" else array
