"""The line that a person would change: where a layer, optimizer, loss or tf.function was made, and which expression."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(5).normal(size=(64, 8)).astype("float32")
Y = X.sum(1, keepdims=True)
CLASSES = (X[:, 0] > 0).astype("int32") + (X[:, 1] > 0)
COLUMNS = sys.version_info >= (3, 11)  # older Pythons know lines only


def line_of(mark: str) -> int:
    """The line of this file that ends with a mark."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
    return found


def first(trace: Trace, cause: str) -> Finding:
    found = [one for one in tensorsleuth.diagnose(trace).findings if one.cause == cause]
    assert found, [one.summary for one in tensorsleuth.diagnose(trace).findings]
    return found[0]


def marked(finding: Finding) -> str | None:
    """The expression that is marked."""
    text = dict(finding.source)[finding.line or 0]
    return text[slice(*finding.columns)] if finding.columns is not None else None


def fit(model: Any, y: Any = Y, epochs: int = 1) -> None:
    model.fit(X, y, epochs=epochs, batch_size=16, verbose=0)  # the fit


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("built", [True, False])
def test_a_layer_among_those_of_a_sequential(recorded: Recorded, name: str, built: bool) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        model = keras.Sequential(
            [
                *([keras.layers.Input((8,))] if built else []),
                keras.layers.Dense(16, activation="relu"),
                keras.layers.Dense(
                    16,  # of the layer
                    activation=lambda x: keras.activations.get("exponential")(x * 1e30),
                ),
                keras.layers.Dense(1),
            ]
        )
        model.compile("sgd", "mse")
        fit(model)

    found = tensorsleuth.diagnose(recorded(train)).findings[0]
    assert found.file == __file__ and abs((found.line or 0) - line_of("of the layer")) <= 1


@pytest.mark.parametrize("name", KERASES)
def test_a_loss_made_for_compile(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
        model.compile(
            optimizer=keras.optimizers.SGD(0.01),
            loss=keras.losses.SparseCategoricalCrossentropy(),  # the loss
        )
        fit(model, CLASSES, epochs=2)

    found = first(recorded(train), "logits-as-probabilities")
    assert found.line == line_of("the loss")
    assert found.shown_at is not None and found.shown_at.line == line_of("the fit")
    assert marked(found) == ("keras.losses.SparseCategoricalCrossentropy()" if COLUMNS else None)
    assert (found.phase, found.epoch, found.batch) == ("train", 0, 0)


@pytest.mark.parametrize("name", KERASES)
def test_a_loss_by_its_name(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
        model.compile(
            "sgd",
            loss="sparse_categorical_crossentropy",  # the name of the loss
        )
        fit(model, CLASSES, epochs=2)

    found = first(recorded(train), "logits-as-probabilities")
    assert (found.line == line_of("the name of the loss")) is COLUMNS
    assert marked(found) == ('loss="sparse_categorical_crossentropy"' if COLUMNS else None)


@pytest.mark.parametrize("name", KERASES)
def test_from_logits_of_probabilities(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        model = keras.Sequential([keras.layers.Dense(3), keras.layers.Softmax(), keras.layers.Reshape((3,))])
        loss = keras.losses.SparseCategoricalCrossentropy(
            from_logits=True,  # from logits
        )
        model.compile("sgd", loss)
        fit(model, CLASSES)

    found = first(recorded(train), "probabilities-as-logits")
    assert found.line == line_of("from logits") - (not COLUMNS)
    assert marked(found) == ("from_logits=True" if COLUMNS else None)


@pytest.mark.parametrize("name", KERASES)
def test_a_layer_of_a_layer_of_a_model(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    class Block(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parts = keras.Sequential(
                [
                    keras.layers.Dense(8, activation="relu"),
                    keras.layers.Dense(8, activation=tf.sqrt),  # the square root
                ]
            )

        def call(self, x: Any) -> Any:
            return x + self.parts(x)  # the block

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [Block() for _ in range(2)]

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return x

    def run() -> None:
        model = Net()
        step = tf.function(lambda x: tf.reduce_mean(model(x)))
        float(step(tf.constant(X)))

    found = first(recorded(run), "sqrt-negative")
    assert found.line == line_of("the square root"), found.layer
    assert found.shown_at is not None and found.shown_at.line == line_of("the block")


@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_the_program_calls_itself(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(8, activation="linear")

        def call(self, x: Any) -> Any:
            return tf.math.log(self.dense(x))  # the logarithm

    def run() -> None:
        float(tf.reduce_sum(Net()(tf.constant(X))))

    found = first(recorded(run), "log-negative")
    assert found.line == line_of("the logarithm") and found.shown_at is None
    assert marked(found) == "tf.math.log(self.dense(x))"


@pytest.mark.parametrize("name", KERASES)
def test_a_block_in_a_model_of_keras_that_calls_its_layer_itself(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    class Block(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(8, activation=tf.sqrt)

        def call(self, x: Any) -> Any:
            return x + self.dense(x)  # the layer is called

    def run() -> None:
        inputs = keras.Input((8,))
        model = keras.Model(inputs, keras.layers.Dense(1)(Block()(inputs)))
        model.compile("sgd", "mse")
        fit(model)

    assert first(recorded(run), "sqrt-negative").line == line_of("the layer is called")


def test_a_function_made_in_a_loop(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones((4, 4)))

    def step(x: Any) -> Any:
        return tf.reduce_sum(tf.matmul(x, weights))

    def run() -> None:
        for _ in range(12):
            fast = tf.function(step, jit_compile=False)  # made anew
            with tf.GradientTape() as tape:
                loss = fast(tf.ones((2, 4)))
            weights.assign_sub(0.01 * tape.gradient(loss, weights))

    found = first(recorded(run), "retracing")
    assert found.line == line_of("made anew")
    assert marked(found) == ("tf.function(step, jit_compile=False)" if COLUMNS else None)


@pytest.mark.parametrize("name", KERASES)
def test_an_initializer_in_the_layer_or_by_its_name(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def ones(units: int, start: Any) -> Any:
        return keras.layers.Dense(units, activation="tanh", kernel_initializer=start)  # of a helper

    def train(*layers: Any) -> None:
        model = keras.Sequential([*layers, keras.layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse")
        fit(model)

    def inline() -> None:
        train(
            keras.layers.Dense(
                8,
                activation="tanh",
                kernel_initializer=keras.initializers.Ones(),  # inline
            )
        )

    def named() -> None:
        start = keras.initializers.Constant(0.3)  # by its name
        train(keras.layers.Dense(8, activation="tanh", kernel_initializer=start))  # of the named

    def passed() -> None:
        train(ones(8, "zeros"))  # as text

    def one_of_two() -> None:
        start = "zeros"
        start = keras.initializers.get(start)
        train(keras.layers.Dense(8, activation="tanh", kernel_initializer=start))  # one of two

    for run, mark, text in (
        (inline, "inline", "kernel_initializer=keras.initializers.Ones()"),
        (named, "by its name", "keras.initializers.Constant(0.3)"),
        (passed, "as text", '"zeros"'),
        (one_of_two, "one of two", "kernel_initializer=start"),
    ):
        found = first(recorded(run), "equal-weights")
        assert (found.line, marked(found)) == (line_of(mark), text), mark
        used = {"by its name": "of the named", "as text": "of a helper"}.get(mark)
        assert (found.shown_at.line if found.shown_at else None) == (line_of(used) if used else None)


@pytest.mark.parametrize("name", KERASES)
def test_a_dataset_is_named_beside_the_line_that_takes_its_batches(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)
    spoiled = X * 300.0
    spoiled[17, 3] = np.nan

    def fit_it() -> None:
        data = tf.data.Dataset.from_tensor_slices((spoiled, Y)).batch(16)  # the dataset of fit
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(1e-9), "mse")
        model.fit(data, epochs=1, shuffle=False, verbose=0)  # takes batches

    def loop_over_it() -> None:
        data = tf.data.Dataset.from_tensor_slices((spoiled, Y))  # the dataset of a loop
        weights = tf.Variable(tf.ones([8, 1]) * 0.1)
        for x, y in data.shuffle(64, seed=1).map(lambda x, y: (x * 0.5, y)).batch(16):  # takes them one by one
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(x @ weights - y))
            weights.assign_sub(1e-9 * tape.gradient(loss, weights))
        float(loss)

    def fit_arrays() -> None:
        compiled = keras.Sequential([keras.layers.Dense(1)])
        compiled.compile(keras.optimizers.SGD(1e-9), "mse")
        compiled.fit(spoiled, Y, verbose=0)  # takes arrays

    for run, mark, used in (
        (fit_it, "the dataset of fit", "takes batches"),
        (loop_over_it, "the dataset of a loop", "takes them one by one"),
        (fit_arrays, "takes arrays", None),
    ):
        trace = recorded(run)
        bad = first(trace, "nan-in-data")
        assert (bad.line, bad.shown_at.line if bad.shown_at else None) == (line_of(mark), used and line_of(used))
        (note,) = (one for one in tensorsleuth.diagnose(trace).notes if one.cause == "unscaled-inputs")
        made = [one.line for one in note.evidence if one.name == "dataset"]
        assert made == ([f"{__file__}:{line_of(mark)}"] if used else [])


def test_an_initializer_of_variables(recorded: Recorded) -> None:
    start = tf.random_normal_initializer(stddev=1e25)  # of variables

    def run() -> None:
        first_weights = tf.Variable(start([8, 8]))  # a variable
        second_weights = tf.Variable(start([8, 1]))
        step = tf.function(lambda x: tf.reduce_sum(tf.square(x @ first_weights @ second_weights)))
        float(step(tf.constant(X)))

    found = first(recorded(run), "initial-weights")
    assert (found.line, marked(found)) == (line_of("of variables"), "tf.random_normal_initializer(stddev=1e25)")
    assert found.shown_at is not None and "start([8, " in (found.shown_at.code or "")


@pytest.mark.parametrize("name", KERASES)
def test_nothing_is_held_and_nothing_is_changed(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)
    seen = {}

    class Own(keras.layers.Layer):
        def __init__(self, units: int, scale: float = 2.0) -> None:
            super().__init__()
            self.units, self.scale = units, scale

    def run() -> None:
        layer = keras.layers.Dense(4, activation="relu", name="kept")
        seen["config"] = layer.get_config()
        seen["gone"] = weakref.ref(layer)
        seen["own"] = Own(3)._auto_config.config if hasattr(Own(3), "_auto_config") else None
        tf.constant(1.0) + 1.0

    trace = recorded(run)
    gc.collect()
    assert seen["gone"]() is None
    bare = keras.layers.Dense(4, activation="relu", name="kept")
    assert seen["config"] == bare.get_config()
    assert seen["own"] == (Own(3)._auto_config.config if seen["own"] is not None else None)
    made = [one for process in trace.processes for one in process.catalogue.creations if one.name == "kept"]
    assert [one.type for one in made] == ["Dense"] and made[0].frame.function == "run"


@pytest.mark.parametrize("name", KERASES)
def test_slots_of_an_eager_loop_lead_to_the_optimizer(recorded: Recorded, name: str) -> None:
    library, kept = kerases.load(name), list[Any]()

    def program() -> None:
        weight = getattr(library, "Variable", tf.Variable)(tf.ones([3]))
        optimizer = library.optimizers.Adam(0.1)  # adam of a loop
        for _ in range(2):
            optimizer.apply_gradients([(tf.ones([3]), weight)])
        kept.append(optimizer)

    (process,) = recorded(program).processes
    variables = VariableIndex(CallGraphs(process))
    slots = [uid for uid, (_, role) in process.catalogue.variables.items() if role == "optimizer"]
    lines = {frame.line for uid in slots if (frame := variables.creation_line(uid)) is not None}
    assert len(slots) >= 2 and lines == {line_of("adam of a loop")}
