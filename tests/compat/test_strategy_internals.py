"""Each private part of TensorFlow's distribution that recording/ touches is there, and does what is assumed."""

from __future__ import annotations

import inspect
import threading

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tensorsleuth.recording.cluster import strategies
from tensorsleuth.recording.tensorflow import internals as private


def test_strategies_run_replicas_through_one_method() -> None:
    assert list(inspect.signature(private.StrategyExtended.call_for_each_replica).parameters) == [
        "self",
        "fn",
        "args",
        "kwargs",
    ]
    assert issubclass(type(tf.distribute.get_strategy().extended), private.StrategyExtended)
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    assert issubclass(type(strategy.extended), private.StrategyExtended)
    assert [device.rpartition("device:")[2] for device in strategy.extended.worker_devices] == ["CPU:0"]


def test_replicas_run_in_threads_that_know_their_number() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    assert list(strategy.extended.worker_devices) == ["/job:localhost/replica:0/task:0/device:CPU:0"]
    seen = strategy.run(lambda: [getattr(threading.current_thread(), "replica_id", None)])
    assert seen == [0] and not strategies.is_later_replica()


def test_the_context_knows_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    assert private.own_task() is None
    cluster = tf.train.ClusterSpec({"worker": ["localhost:0", "localhost:0"]}).as_cluster_def()
    server = tf.train.ServerDef(cluster=cluster, job_name="worker", task_index=1)
    monkeypatch.setattr(context.context(), "_collective_ops_server_def", server)
    assert private.own_task() == ("worker", 1)


def test_a_server_says_its_job() -> None:
    server = tf.distribute.Server({"worker": ["localhost:0"]}, job_name="worker", task_index=0, start=False)
    assert isinstance(server, private.Server)
    assert (server.server_def.job_name, server.server_def.task_index) == ("worker", 0)
