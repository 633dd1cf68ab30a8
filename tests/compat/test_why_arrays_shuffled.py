"""Arrays that are shuffled apart before they are fed as pairs: source and data together tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.diagnose.training.pairs.array_order import reordered_apart
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RNG = np.random.default_rng(6)
SEED = 4
X = RNG.normal(size=(256, 4)).astype("float32")
Y = X.sum(1, keepdims=True) + 3.0


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace).findings
    return [(one.cause, one.line) for one in found if one.cause == "arrays-shuffled"]


def model_of() -> Any:
    keras = kerases.load("tf.keras")
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model


def inputs_alone() -> None:
    x_train, y_train = X.copy(), Y.copy()
    np.random.shuffle(x_train)  # inputs alone
    model_of().fit(x_train, y_train, batch_size=16, epochs=24, verbose=0)


def both_before_the_split() -> None:
    inputs, targets = X.copy(), Y.copy()
    np.random.shuffle(inputs)  # both
    np.random.shuffle(targets)
    x_part, x_rest = inputs[:224], inputs[224:]
    y_part, y_rest = targets[:224], targets[224:]
    model_of().fit(x_part, y_part, batch_size=16, epochs=24, verbose=0, validation_data=(x_rest, y_rest))


def permuted_datasets() -> None:
    first, second = X / 1.0, Y / 1.0
    first = np.random.permutation(first)  # permuted
    data = tf.data.Dataset.from_tensor_slices((first, second))
    weights = tf.Variable(tf.zeros((4, 1)))
    bias = tf.Variable(3.0)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weights + bias - y))
        by, other = tape.gradient(loss, (weights, bias))
        weights.assign_sub(0.05 * by)
        bias.assign_sub(0.05 * other)
        return loss

    for x, y in data.repeat(24).batch(16):
        step(x, y)


def by_one_order() -> None:
    together, labels = X.copy(), Y.copy()
    order = np.random.permutation(len(together))
    together, labels = together[order], labels[order]
    model_of().fit(together, labels, batch_size=16, epochs=24, verbose=0)


def of_no_use() -> None:
    """Learn all the same: the labels do not depend on the inputs, but for the loss at the start."""
    noise, same = X.copy(), np.zeros_like(Y)
    np.random.shuffle(noise)
    model_of().fit(noise, same, batch_size=16, epochs=24, verbose=0)


PROGRAMS: dict[str, tuple[Callable[[], None], str | None]] = {
    "inputs alone": (inputs_alone, "inputs alone"),
    "both": (both_before_the_split, "both"),
    "permuted": (permuted_datasets, "permuted"),
    "by one order": (by_one_order, None),
    "labels that are all alike": (of_no_use, None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arrays_shuffled_before_they_are_fed(recorded: Recorded, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mark = PROGRAMS[name]
    _only_this(monkeypatch, program)
    tf.keras.utils.set_random_seed(SEED)  # of NumPy and Python too
    assert told(recorded(program)) == ([("arrays-shuffled", marked(mark))] if mark else [])


def _only_this(monkeypatch: pytest.MonkeyPatch, program: Callable[[], None]) -> None:
    """Hide the other programs of this file: two of them are no proof of either."""
    from tensorsleuth.diagnose.training.pairs import arrays_shuffled

    def those(text: str) -> list[Any]:
        return [one for one in reordered_apart(text) if one.function == program.__name__]

    monkeypatch.setattr(arrays_shuffled, "reordered_apart", those)


MADE = "x = np.zeros(9)\ny = np.zeros(9)\n"
FIT = "model.fit(x, y)\n"
ALIKE = {
    "the same seed": f"{MADE}np.random.seed(1)\nnp.random.shuffle(x)\nnp.random.seed(1)\nnp.random.shuffle(y)\n{FIT}",
    "a saved state": f"{MADE}np.random.shuffle(x)\nnp.random.set_state(state)\nnp.random.shuffle(y)\n{FIT}",
    "labels made later": f"x = np.zeros(9)\nnp.random.shuffle(x)\ny = f(x)\n{FIT}",
    "one array of both": "d = load()\nnp.random.shuffle(d)\nx = d[:, :4]\ny = d[:, 4:]\nmodel.fit(x, y)\n",
    "scikit-learn": f"{MADE}x, y = shuffle(x, y)\n{FIT}",
    "the same random_state": f"{MADE}x = shuffle(x, random_state=1)\ny = shuffle(y, random_state=1)\n{FIT}",
    "a list of files": f"{MADE}np.random.shuffle(files)\n{FIT}",
    "a dataset": f"{MADE}x = x.shuffle(100)\n{FIT}",
    "indexes": f"{MADE}i = np.arange(9)\nnp.random.shuffle(i)\nx, y = x[i], y[i]\n{FIT}",
    "after the fit": f"{MADE}{FIT}np.random.shuffle(x)\n",
    "an autoencoder": "x = np.zeros(9)\nnp.random.shuffle(x)\nmodel.fit(x, x)\n",
    "made anew": f"{MADE}np.random.shuffle(x)\nx = load()\n{FIT}",
}


@pytest.mark.parametrize("name", ALIKE)
def test_sources_that_keep_pairs(name: str) -> None:
    assert list(reordered_apart(ALIKE[name])) == []


def test_a_source_that_does_not_keep_pairs() -> None:
    (found,) = reordered_apart(f"{MADE}np.random.shuffle(y)\n{FIT}")
    assert (found.lines, found.reordered, found.fed) == ((3,), ("y",), 4)
