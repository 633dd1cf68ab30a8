"""What a recording sees, and what it does not: the list that `sleuth doctor` prints."""

from __future__ import annotations

COVERED = (
    "eager ops, in every Python thread",
    "tf.function: nested, traced before recording began, or loaded from a SavedModel",
    "while loops and conditionals, and their gradients; tapes inside or outside a function; custom gradients",
    "tf.data map functions; ragged and sparse tensors",
    "graphs that a tf.compat.v1.Session runs: by itself, in a MonitoredSession, in an Estimator, in Keras 2",
    "Python processes that the program starts (multiprocessing, subprocess), into the same run",
)

NOT_COVERED = (
    "inside of functions compiled by XLA (jit_compile=True): what goes in and comes out is seen",
    "inside of tf.py_function and tf.numpy_function bodies, other than the TensorFlow ops they run",
    "sessions: graphs that ran before recording began, partial_run, other machines, functions of their datasets",
    "Python processes started with -I, -E or -S, or with an emptied environment",
)
