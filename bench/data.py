"""Rows about data: a pipeline with and without `checked`, and a large file against a bare min and max over it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from bench.rounds import ENVIRONMENT
from bench.row import Bench, Result

SIDE, IMAGES, BATCH = 96, 512, 64
ROWS, WIDTH, ROW_BATCH = 16_384, 32, 256
EPOCHS = 4  # in each round
GIGABYTE = 1_000_000_000


def checked_pipeline(bench: Bench) -> Result:
    """An epoch of images and one of rows, with and without the check: the worse of the two."""
    os.environ.update(ENVIRONMENT)
    results = {name: _epochs(bench, name, *make()) for name, make in (("images", _images), ("rows", _table))}
    worst = max(results, key=lambda name: float(results[name]["ours"]))
    return {**results[worst], "pipelines": results, "worst": worst}


def _epochs(bench: Bench, name: str, dataset: Any, schema: Any) -> Result:
    import tensorsleuth

    dataset = dataset.repeat(EPOCHS)
    variants = {"bare": dataset, "ours": dataset.apply(tensorsleuth.checked(schema)), "again": dataset}
    taken: dict[str, list[float]] = {variant: [] for variant in variants}
    worked: dict[str, list[float]] = {variant: [] for variant in variants}
    for i in range(-2, bench.rounds(25)):
        bench.progress(f"{name}, epoch {i + 1}")
        for variant, one in sorted(variants.items(), key=lambda pair: (len(pair[0]) + i) % 3):
            before, seconds = time.process_time(), _timed(partial(_drain, one))
            if i >= 0:
                taken[variant].append(seconds)
                worked[variant].append(time.process_time() - before)
    cpu = {variant: median(seconds) / median(worked["bare"]) for variant, seconds in worked.items()}
    return _against(taken) | {"also": {"cpu": cpu}}


def _against(taken: dict[str, list[float]]) -> Result:
    ratios = {v: [one / bare for one, bare in zip(seconds, taken["bare"])] for v, seconds in taken.items()}
    spread = {v: quantiles(values, n=4)[::2] for v, values in ratios.items() if len(values) > 1}
    medians = {v: median(values) for v, values in ratios.items() if v != "bare"}
    return {"bare_s": median(taken["bare"]), "spread": spread, "rounds": len(taken["bare"]), **medians}


def _drain(dataset: Any) -> None:
    for _ in dataset:
        pass


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _images() -> tuple[Any, Any]:
    """Bytes that are scaled and turned, in batches, as for a small CNN."""
    import tensorflow as tf

    from tensorsleuth import Feature, Label, Schema

    random = np.random.default_rng(0)
    images = random.integers(0, 256, (IMAGES, SIDE, SIDE, 3)).astype(np.uint8)
    labels = random.integers(0, 10, IMAGES)

    def prepare(image: Any, label: Any) -> tuple[Any, Any]:
        return tf.image.random_flip_left_right(tf.cast(image, tf.float32) / 255.0), label

    slices = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(IMAGES, seed=1)
    dataset = slices.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH)
    image = Feature("float32", shape=("batch", SIDE, SIDE, 3), between=(0, 1))
    return dataset, Schema({"image": image, "label": Label(classes=10)})


def _table() -> tuple[Any, Any]:
    """Rows of numbers, shuffled, in batches."""
    import tensorflow as tf

    from tensorsleuth import Feature, Label, Schema

    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(ROWS, WIDTH)).astype(np.float32), random.integers(0, 2, ROWS)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)

    def prepare(row: Any, label: Any) -> tuple[Any, Any]:
        return (row - mean) / deviation, label

    slices = tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(ROWS, seed=1)
    dataset = slices.batch(ROW_BATCH).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset, Schema(
        {"row": Feature("float32", shape=("batch", WIDTH), between=(-50, 50)), "label": Label(classes=2)}
    )


def data_check_npz(bench: Bench) -> Result:
    """1 GB of float32 in a .npz: its speed of a check with a schema, over that of loading it and taking min and max."""
    from tensorsleuth import Feature, Label, Schema
    from tensorsleuth.native.row_health import load

    path, loaded = _large(bench), None
    image = Feature("float32", shape=("batch", 28, 28), between=(0, 1))
    schema = Schema({"x": image, "y": Label(classes=10)})
    loaded = np.load(path)["x"]
    contenders: dict[str, Callable[[], object]] = {
        "bare": lambda: _extremes(np.load(path)["x"]),
        "ours": lambda: schema.check(path).raise_if_bad(),
        "in memory": lambda: _extremes(loaded),
    }
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for i, name in _turns(bench.rounds(9), list(contenders)):
        bench.progress(f"{name}, round {i + 1}")
        taken[name].append(_timed(contenders[name]))
    speed = [bare / ours for bare, ours in zip(taken["bare"], taken["ours"])]
    strict = [bare / ours for bare, ours in zip(taken["in memory"], taken["ours"])]
    also = {"of min and max in memory": median(strict), "ours_s": median(taken["ours"]), "native": load() is not None}
    return {"ours": median(speed), "bare_s": median(taken["bare"]), "also": also, "rounds": len(speed)}


def _turns(rounds: int, names: list[str]) -> Iterator[tuple[int, str]]:
    return ((i, name) for i in range(rounds) for name in names)


def _extremes(array: np.ndarray[Any, Any]) -> tuple[float, float]:
    return float(array.min()), float(array.max())


def _large(bench: Bench) -> Path:
    bench.progress("writing 1 GB")
    path, random, rows = bench.folder / "large.npz", np.random.default_rng(0), GIGABYTE // (28 * 28 * 4)
    np.savez(path, x=random.random((rows, 28, 28), dtype=np.float32), y=random.integers(0, 10, rows))
    return path
