"""The rows of the benchmark, with their limits. A row that misses its limit says why here, beside it."""

from __future__ import annotations

from bench import ends, page
from bench.ratios import inside, measured, peak, ratio, watched
from bench.reading import bytes_an_event, open_million, why_million
from bench.row import Bench, Result, Row

AGAIN = ("again", "tfdbg2")
"""A second bare process beside the peer shows how much of a few percent is the machine."""

STEP = "one training step, its function traced beforehand"


def checked_pipeline(bench: Bench) -> Result:
    from bench.data import checked_pipeline

    return checked_pipeline(bench)


def data_check_npz(bench: Bench) -> Result:
    from bench.data import data_check_npz

    return data_check_npz(bench)


def kernel_bandwidth(bench: Bench) -> Result:
    from bench.kernel import measure

    shares = measure(bench.progress, bench.rounds(60))
    return {"ours": min(one["full"] for one in shares.values()), "shares": shares}


FASTER_CPU = (
    "the limit was set on a CPU on which a bare step took about 400 ms. The work for each op is a larger part of a "
    "shorter step, and has no account by kind of work yet."
)
SHORT_STEPS = "a step is short, and what a recording does for each op and each batch takes a larger part of it."
WATCHED_COPY = (
    "a part of the difference comes with the watched copy of the function in the first step, the rest has no account "
    "yet. Bare processes of this program also differ by several percent from each other."
)
COMPILED_RULES = (
    "not looked into yet. Under XLA an expectation is plain ops that are compiled with the step, and a variable that "
    "is read after each call."
)
CHEAP_PIPELINE = (
    "not looked into yet. The check reads every element once, and these pipelines do little else with them."
)
MORE_WORK = (
    "the kernel takes the range and counts the values of either sign, `np.max` takes one end of the range. The figure "
    "is the worst of four types, in cache and out of it, and other programs use the same memory."
)

IMPORTS = (
    "more than half of it is the import of Python's own modules, click, NumPy and rich. The rest is some three hundred "
    "small modules of ours, one for each rule."
)

ROWS = [
    Row(
        "transformer-full-health",
        STEP,
        1.08,
        ratio("transformer", 2, 12, peers=(*AGAIN, "check_numerics")),
        why=FASTER_CPU,
    ),
    Row(
        "transformer-full-numerics",
        STEP,
        1.10,
        ratio("transformer", 2, 15, "FULL_NUMERICS", ("again",)),
        why=FASTER_CPU,
    ),
    Row(
        "transformer-curt-health", STEP, 1.03, ratio("transformer", 2, 15, "CURT_HEALTH", AGAIN, sets=3), why=FASTER_CPU
    ),
    Row("transformer-no-tensor", STEP, 1.03, ratio("transformer", 2, 15, "NO_TENSOR", AGAIN, sets=3)),
    Row("transformer-rss", "peak resident memory of the process", 1.05, peak("transformer", 1), why=WATCHED_COPY),
    Row("transformer-tracing", "trace anew and run once", 1.5, ratio("tracing", 1, 5)),
    Row(
        "transformer-break",
        "FULL_HEALTH, a break point",
        1.08,
        ratio("transformer", 2, 12, "break", ("again",)),
        why=FASTER_CPU,
    ),
    Row("watch-transformer", "watched every 100 steps, over FULL_HEALTH", 1.02, watched("transformer", 2, 12, 100)),
    Row("inside-transformer", "the model looked into every 100 steps", 1.15, inside("transformer", 2, 12, 100)),
    Row("memory-transformer", "where memory goes, over FULL_HEALTH", 1.02, measured("transformer", 2, 18, 3)),
    Row("transformer-flight", STEP, 1.02, ratio("transformer", 4, 15, "FLIGHT", ("again",), sets=3)),
    Row("transformer-compiled", "the step compiled by XLA", 1.05, ratio("compiled-transformer", 2, 15, peers=AGAIN)),
    Row("eager-loop", "250 small eager ops", 1.6, ratio("eager", 3, 15, peers=("tfdbg2", "check_numerics"))),
    Row(
        "guard-transformer",
        STEP,
        1.03,
        ratio("transformer", 2, 15, "guard", ("again", "check_numerics"), sets=3),
        why=FASTER_CPU,
    ),
    Row("guard-eager", "250 small eager ops", 1.5, ratio("eager", 3, 15, "guard", ("check_numerics",))),
    Row(
        "expect-transformer",
        "finite, each layer's output",
        1.03,
        ratio("transformer", 2, 15, "expect", ("again",), sets=3),
    ),
    Row(
        "expect-compiled",
        "the same, compiled",
        1.05,
        ratio("compiled-transformer", 2, 15, "expect", ("again",)),
        why=COMPILED_RULES,
    ),
    Row("keras-cnn", "fit of 100 batches of 32", 1.10, ratio("keras-cnn", 100, 6, sets=2), why=SHORT_STEPS),
    Row("bytes-an-event", "size on disk", 128, bytes_an_event, "B"),
    Row("open-million", "open, list bad tensors", 0.5, open_million, "s"),
    Row("why-million", "the verdict", 2.0, why_million, "s"),
    Row("start-empty", "sleuth run of a program that only imports TensorFlow", 0.2, ends.start_empty, "s", why=IMPORTS),
    Row("end-verdict", "the verdict on 10,000 events when the program has ended", 0.3, ends.end_verdict, "s"),
    Row("cli-why", "sleuth why, on 10,000 events", 0.25, ends.command("why"), "s", why=IMPORTS),
    Row("cli-runs", "sleuth runs, of 10 runs", 0.25, ends.command("runs"), "s"),
    Row("cli-help", "sleuth --help", 0.25, ends.command("--help"), "s"),
    Row("page-first-paint", "the verdict on screen", 1.5, page.first_paint, "s"),
    Row("page-filter", "a filter or jump on screen", 0.2, page.filters, "s"),
    Row("page-memory", "peak of the server", 300, page.memory, "MB"),
    Row("checked-pipeline", "an epoch of a tf.data pipeline", 1.05, checked_pipeline, why=CHEAP_PIPELINE),
    Row("data-check-npz", "speed of min + max of 1 GB of .npz", 0.5, data_check_npz, at_least=True),
    Row("kernel-bandwidth", "of a bare max()", 0.90, kernel_bandwidth, at_least=True, why=MORE_WORK),
]
