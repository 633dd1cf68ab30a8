"""The only wrapper of `Context.call_function`, through which Python calls functions, and its listeners.

The first listener installs it, and it stays: graphs that contain our ops may run until the program ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tensorflow.python.eager import context

from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.patches import Patches, disguise

RenameFunction = Callable[[str], str | None]
FindAlarm = Callable[[str], Alarm]
CallEndListener = Callable[[str, Sequence[Any]], Alarm]

_patches = Patches()
_renames: list[RenameFunction] = []
_failure_listeners: list[FindAlarm] = []
_end_listeners: list[CallEndListener] = []


def run_instead(rename_function: RenameFunction) -> None:
    """Run the function that `rename_function` returns in place of the called one; None means the called one."""
    _listen(_renames, rename_function)


def on_failure(find_alarm: FindAlarm) -> None:
    """Replace errors by the result of `find_alarm` for their message. If it returns None, raise the original error."""
    _listen(_failure_listeners, find_alarm)


def on_end(call_end_listener: CallEndListener) -> None:
    """Pass the inputs of ended calls to the listener. Raise the exception that it returns, unless the call raised."""
    _listen(_end_listeners, call_end_listener)


def _listen(listeners: list[Any], listener: Any) -> None:
    _wrap()
    if listener not in listeners:
        listeners.append(listener)


@cache
def _wrap() -> None:
    def call_function(self: Any, name: Any, tensor_inputs: Any, num_outputs: Any) -> Any:
        alarm = None
        try:
            outputs = real(self, _name_to_run(name), tensor_inputs, num_outputs)
        except tf.TensorFlowErrors as error:
            _tell_ended(name, tensor_inputs)
            alarm = _first_alarm(_failure_listeners, str(error))
            if alarm is None:
                raise
        except BaseException:
            _tell_ended(name, tensor_inputs)
            raise
        else:
            alarm = _tell_ended(name, tensor_inputs)
        if alarm is not None:
            raise alarm
        return outputs

    real = _patches.replace(context.Context, "call_function", call_function)
    disguise(call_function, real)


def _name_to_run(name: Any) -> Any:
    for rename in _renames:
        other = harmless(rename, name.decode() if isinstance(name, bytes) else name)
        name = other.encode() if isinstance(other, str) else name
    return name


def _tell_ended(name: Any, inputs: Sequence[Any]) -> Alarm:
    alarms = [ended(name, inputs) for ended in _end_listeners]
    return next((alarm for alarm in alarms if alarm is not None), None)


def _first_alarm(find_alarms: Sequence[FindAlarm], message: str) -> Alarm:
    return next((alarm for find in find_alarms if (alarm := find(message)) is not None), None)
