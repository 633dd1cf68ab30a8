"""Runs a program as `python PROGRAM` would, watched in a way that has no command of its own.

`python bench/zoo/harness/watched.py guard|tfdbg2|check_numerics FOLDER PROGRAM [ARGUMENT ...]`
"""

from __future__ import annotations

import os
import runpy
import sys


def guard(folder: str) -> None:
    """Watch with the guard of tensorsleuth, which keeps no run."""
    import tensorsleuth

    tensorsleuth.guard()


def tfdbg2(folder: str) -> None:
    """Dump with TensorFlow's Debugger V2, told to keep everything as a recording does, not the last 1,000 events."""
    import tensorflow as tf

    debug = tf.debugging.experimental
    debug.enable_dump_debug_info(folder, tensor_debug_mode="FULL_HEALTH", circular_buffer_size=-1)


def check_numerics(folder: str) -> None:
    """Check every tensor with TensorFlow's own check, which keeps no run."""
    import tensorflow as tf

    tf.debugging.enable_check_numerics()


WATCHERS = {"guard": guard, "tfdbg2": tfdbg2, "check_numerics": check_numerics}


def main(watcher: str, folder: str, program: str, *arguments: str) -> None:
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    WATCHERS[watcher](folder)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
