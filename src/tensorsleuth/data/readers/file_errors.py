"""Errors for files that cannot be read: one sentence each, never a traceback."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError

MAGIC_BYTES = {".npz": b"PK", ".npy": b"\x93NUMPY", ".parquet": b"PAR1"}


class DataFileError(SleuthError):
    """A file that cannot be read as the data it should hold."""


def bad_file(path: Path, what: str, next_step: str = "") -> DataFileError:
    return DataFileError(f"{path} {what}. {next_step}".rstrip())


def check_magic_bytes(path: Path) -> None:
    """Raise an error if the first bytes of a file do not match its suffix."""
    with path.open("rb") as file:
        begins = file.read(8)
    expected = MAGIC_BYTES.get(path.suffix.lower())
    if expected is None or begins.startswith(expected):
        return
    real = next((suffix for suffix, magic in MAGIC_BYTES.items() if begins.startswith(magic)), None)
    advice = f"It begins as a {real} file does: rename it." if real else f"It begins with {begins!r}, not {expected!r}."
    raise bad_file(path, f"is not a {path.suffix} file", advice)


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn the errors of reading a file into sentences."""
    again = "Was it written or copied to the end? Write it once more."
    try:
        yield
    except SleuthError:
        raise
    except PermissionError as error:
        raise bad_file(path, "may not be read by this user", f"Look at: ls -l {path}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise bad_file(path, f"is damaged or cut short ({_reason(error)})", again) from error
    except UnicodeDecodeError as error:
        raise bad_file(
            path, f"is not UTF-8 text (byte {error.start})", "Is it compressed, or in another encoding?"
        ) from error
    except (OSError, ValueError) as error:
        raise bad_file(path, f"cannot be read ({_reason(error)})", again) from error


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def import_needed(module: str, what: str) -> Any:
    """Import a library of the extra `data`, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        advice = (
            "pip install 'tensorsleuth[data]'"
            if library != "tensorflow"
            else "Install it, or run this where the program runs"
        )
        raise SleuthError(f"{what} needs {library}, which cannot be imported here ({error}). {advice}.") from error
