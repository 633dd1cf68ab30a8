"""One watched process that stays alive: a line on stdin asks for a round, a JSON line on stdout answers it.

`python -m bench.worker WORKLOAD STEPS VARIANT MODE FOLDER`
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import tensorflow as tf

from bench.ablation import count_work
from bench.rounds import WARM_UP
from bench.variants import VARIANTS
from bench.workloads import WORKLOADS, Round


def main(workload: str, steps: str, variant: str, mode: str, folder: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of the program must not mix with our answers
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    end = VARIANTS[variant](folder, mode)
    a_round = WORKLOADS[workload](int(steps))
    for _ in range(WARM_UP):
        a_round()
    print("{}", file=answers)
    counted = count_work(a_round) if variant.startswith("part-") else {}
    for _ in sys.stdin:
        print(json.dumps(measure(a_round) | counted), file=answers)
    end()


def measure(a_round: Round) -> dict[str, float]:
    """Wall and processor seconds of a round, and the peak resident bytes of the process so far."""
    wall, cpu = time.perf_counter(), time.process_time()
    own = a_round()
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return taken | {"peak": peak_bytes()} | own


def peak_bytes() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(*sys.argv[1:])
