"""The functions that users call to log tensors, by name or at a point in the code."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.watch.options import WatchRequest, checked_every, make_watch_request, read_measures
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.handle import RemovableHandle

T = TypeVar("T")

_watches: Any = None  # Watches, created by the first `watch`
_implied: Any = None  # the recording that `watch` has begun


class Watch(RemovableHandle[WatchRequest]):
    """An active watch. It ends with `remove()`, with its `with` block, or with the program."""

    def __init__(self, watch_request: WatchRequest) -> None:
        super().__init__(watch_request)
        self.tensors, self.every = watch_request.text, watch_request.every

    def _on_remove(self, held: WatchRequest) -> None:
        if _watches.remove(held):
            _leave()

    def __repr__(self) -> str:
        return f"<watch {self.tensors!r} every {self.every} steps>"


@overload
def watch(
    tensors: str | Sequence[str],
    *,
    every: int = 1,
    what: str | Sequence[str] | None = None,
    logdir: str | os.PathLike[str] | None = None,
) -> Watch: ...
@overload
def watch(
    tensors: T,
    *,
    name: str,
    every: int = 1,
    what: str | Sequence[str] | None = None,
    logdir: str | os.PathLike[str] | None = None,
) -> T: ...


def watch(
    tensors: Any,
    *,
    name: str | None = None,
    every: int = 1,
    what: str | Sequence[str] | None = None,
    logdir: str | os.PathLike[str] | None = None,
) -> Any:
    """Log tensors every so many training steps, into the trace and into event files for TensorBoard.

    Args:
        tensors: names or regular expressions of ops, layers and variables. The prefixes "op:", "name:", "layer:",
            "variable:", "gradient:" and "update:" restrict the match. With `name`, a single tensor, which is returned.
        name: the name to log the tensor under.
        every: the number of training steps from one sample to the next.
        what: one or more of "scalar", "norm", "histogram", "quantiles", "image", "text", "value". By default the value
            of a tensor with one element, the norm and a histogram of a larger one, and the text of strings.
        logdir: the folder of the event files. By default `tensorboard` in the run.
    """
    if name is not None:
        return _watch_here(tensors, name, checked_every(every), what, logdir)
    wanted = make_watch_request(tensors, every, what)
    _begin(logdir).add(wanted)
    return Watch(wanted)


watch.autograph_info__ = {}  # type: ignore[attr-defined]  # AutoGraph must not convert it


def _watch_here(tensor: T, name: str, every: int, what: Any, logdir: Any) -> T:
    if not isinstance(name, str) or not name:
        raise SleuthError(f"watch(name={name!r}): a name is a string, such as name='logits'.")
    asked = read_measures(what)
    watches = _begin(logdir)
    from tensorsleuth.live.watch import points

    points.watch_point(watches, tensor, name, every, asked)
    return tensor


def _begin(logdir: Any) -> Any:
    """Return the watches of this process. Start a recording if there is none."""
    global _watches, _implied
    if _watches is None:
        recording.require_tensorflow()
        from tensorsleuth.live.watch.watches import Watches

        _watches = Watches()
        os.register_at_fork(after_in_child=_watches.abandon)
        atexit.register(_leave)
    if logdir is not None:
        _watches.move(Path(logdir))
    if _watches.recorder is None:
        _implied = recording.record_lightly() or _implied
        recording.add_observer(_watches)
    return _watches


def _leave() -> None:
    """End the recording that `watch` began, because no watch is left."""
    global _implied
    recording.remove_observer(_watches)
    _watches.logdir = None
    implied, _implied = _implied, None
    if implied is not None:
        implied.close()
