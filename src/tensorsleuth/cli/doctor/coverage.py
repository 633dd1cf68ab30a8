"""The coverage of a recording, as `sleuth doctor` prints it."""

from __future__ import annotations

COVERED = (
    "eager ops, in every Python thread",
    "tf.function: nested, traced before recording began, or loaded from a SavedModel",
    "while loops and conditionals, and their gradients; tapes inside or outside a function; custom gradients",
    "tf.data map functions; ragged and sparse tensors",
    "graphs that a tf.compat.v1.Session runs: by itself, in a MonitoredSession, in an Estimator, in Keras 2",
    "Python processes that the program starts (multiprocessing, subprocess), into the same run",
    "functions that XLA compiles, by jit_compile=True or autoclustering: a call that went bad runs again, uncompiled",
    "MirroredStrategy: each replica by itself; soft device placement",
    "MultiWorkerMirroredStrategy: one verdict for all workers that are recorded into one run",
    "ParameterServerStrategy: functions that workers run, if they record into the coordinator's run",
)

NOT_COVERED = (
    "the inside of compiled functions that a dataset calls, that make resources, or whose variables do not fit twice",
    "Python code inside tf.py_function and tf.numpy_function; the TensorFlow ops there are covered",
    "sessions: graphs that ran before recording began, partial_run, other machines, functions of their datasets",
    "the inside of functions that workers run for a coordinator in another run, or in none; their results are covered",
    "the replica of an op, if strategy.run is called outside of a tf.function",
    "forked processes: TensorFlow does not work in them",
    "GPUs: TensorFlow computes summaries of tensors there, which is tested on CPUs only; TPUs are untested",
    "Python processes started with -I, -E or -S, or with an emptied environment",
)
