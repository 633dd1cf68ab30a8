"""Records the program's distribution strategy: the devices of its replicas, and this worker's place in a cluster."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

from tensorflow.python.distribute import mirrored_run

from tensorsleuth.recording.tensorflow import internals as tf

Note = Callable[[dict[str, Any]], None]


class StrategyNotes:
    """Passes each strategy to `note`, and each graph in which replicas create ops to `started`."""

    def __init__(self, note: Note, started: Callable[[Any], None]) -> None:
        self._note = note
        self._started = started
        self._noted: list[dict[str, Any]] = []

    def note_use(self, extended: Any) -> None:
        """Note a strategy that is about to run code on its replicas."""
        if not tf.executing_eagerly():
            self._started(tf.ops.get_default_graph())
        found = _replicas(extended) | _task(extended)
        if found and found not in self._noted:
            self._noted.append(found)
            self._note(found)


def is_later_replica() -> bool:
    """Return whether this thread runs a replica other than the first. Its ops belong to the first one's step."""
    thread = threading.current_thread()
    return isinstance(thread, mirrored_run._MirroredReplicaThread) and thread.replica_id > 0


def task_of_environment() -> dict[str, Any]:
    """Return the worker's task from TF_CONFIG."""
    try:
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        tasks = config["cluster"][config["task"]["type"]]
        return _task_fields(config["task"]["type"], config["task"]["index"], len(tasks))
    except (ValueError, KeyError, TypeError):  # TF_CONFIG is missing or malformed, and reporting that is not our task
        return {}


def _replicas(extended: Any) -> dict[str, Any]:
    try:
        devices = [str(device) for device in extended.worker_devices]
    except (RuntimeError, NotImplementedError, AttributeError):  # for example, from the default strategy
        return {}
    return {"replicas": devices} if len(devices) > 1 else {}


def _task(extended: Any) -> dict[str, Any]:
    resolver = getattr(extended._container_strategy(), "cluster_resolver", None)
    if resolver is None or not resolver.task_type:
        return {}
    tasks = resolver.cluster_spec().as_dict().get(resolver.task_type, ())
    return _task_fields(resolver.task_type, resolver.task_id, len(tasks))


def _task_fields(kind: Any, index: Any, count: int) -> dict[str, Any]:
    return {"task": {"type": str(kind), "index": int(index), "of": count}}
