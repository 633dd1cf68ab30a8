"""The coverage of a recording, as `sleuth doctor` prints it."""

from __future__ import annotations

COVERED = (
    "eager ops, in every Python thread",
    "tf.function: nested, traced before recording began, or loaded from a SavedModel",
    "while loops and conditionals, and their gradients; tapes inside or outside a function; custom gradients",
    "tf.data map functions; ragged and sparse tensors",
    "graphs that a tf.compat.v1.Session runs: by itself, in a MonitoredSession, in an Estimator, in Keras 2",
    "Python processes that the program starts (multiprocessing, subprocess), into the same run",
    "functions that XLA compiles, by jit_compile=True or autoclustering: a call that went bad is run again, uncompiled",
    "MirroredStrategy: each replica apart; soft device placement",
    "MultiWorkerMirroredStrategy: one verdict for all workers that are recorded into one run",
    "ParameterServerStrategy: functions that workers run, where those are recorded into the coordinator's run",
)

NOT_COVERED = (
    "inside of compiled functions that a dataset calls, that make resources, or whose variables do not fit twice",
    "inside of tf.py_function and tf.numpy_function bodies, other than the TensorFlow ops they run",
    "sessions: graphs that ran before recording began, partial_run, other machines, functions of their datasets",
    "functions that workers run for a coordinator in another run, or in none: what they return and write is seen",
    "which replica an op belongs to where strategy.run is called outside of a tf.function",
    "processes that the program forks: TensorFlow does not work in them",
    "GPUs are watched by summaries that TensorFlow computes there, which is tested on CPUs only; TPUs are untested",
    "Python processes started with -I, -E or -S, or with an emptied environment",
)
