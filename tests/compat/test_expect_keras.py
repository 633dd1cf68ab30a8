"""`expect` in Keras: inputs and layers' outputs of functional models, inside of layers, fit with XLA; saving."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.kerases import KERASES, load

import tensorsleuth
from tensorsleuth import ExpectationError, expect

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange")  # in Keras 2
Y = np.zeros((8, 1), "float32")


def pixels(bad: bool = False) -> Any:
    made = np.random.default_rng(1).random((8, 4)).astype("float32")
    made[5, 2] = 255 if bad else 1
    return made


def functional(keras: Any) -> Any:
    image = keras.Input((4,))
    hidden = keras.layers.Dense(3, activation="relu")(expect(image, between=(0, 1), name="image"))
    return keras.Model(image, keras.layers.Dense(1)(expect(hidden, finite=True)))


def subclassed(keras: Any) -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(expect(x, between=(0, 1), name="image"))

    return Net()


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("make", [functional, subclassed])
@pytest.mark.parametrize("name", KERASES)
def test_fit_evaluate_and_predict(name: str, make: Any, jit: bool) -> None:
    model = make(load(name))
    model.compile("sgd", "mse", jit_compile=jit)
    model.fit(pixels(), Y, batch_size=8, verbose=0)
    for run in (
        lambda: model.fit(pixels(bad=True), Y, batch_size=8, verbose=0, shuffle=False),
        lambda: model.evaluate(pixels(bad=True), Y, batch_size=8, verbose=0),
        lambda: model.predict(pixels(bad=True), batch_size=8, verbose=0),
    ):
        with pytest.raises(ExpectationError) as caught:
            run()
        violation = caught.value.violation
        assert violation is not None
        assert (violation.name, violation.positions, violation.values) == ("image", ((5, 2),), (255.0,))
        assert violation.file == __file__ and "expect(" in (violation.code or "")


@pytest.mark.parametrize("name", KERASES)
def test_training_is_the_same_to_the_bit(name: str) -> None:
    keras = load(name)

    def train(judge: Any) -> Any:
        keras.utils.set_random_seed(3)
        image = keras.Input((4,))
        hidden = judge(keras.layers.Dense(5, activation="tanh")(judge(image)))
        model = keras.Model(image, keras.layers.Dense(1)(hidden))
        model.compile("adam", "mse", jit_compile=False)
        model.fit(pixels(), Y, epochs=3, verbose=0)
        return [weight.tobytes() for weight in model.get_weights()]

    assert train(lambda x: x) == train(lambda x: expect(x, finite=True))


@pytest.mark.parametrize("name", KERASES)
def test_what_is_known_is_told_while_building(name: str) -> None:
    keras = load(name)
    with pytest.raises(ExpectationError, match=r"expected shape \[batch, 5\], found \[\*, 4\]"):
        expect(keras.Input((4,)), shape=("batch", 5))


@pytest.mark.parametrize("name", KERASES)
def test_models_are_saved_with_it_and_loaded(name: str, tmp_path: Path) -> None:
    keras = load(name)
    model = functional(keras)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert np.array_equal(again.predict(pixels(), verbose=0), model.predict(pixels(), verbose=0))
    with pytest.raises(ExpectationError, match="image: expected values between 0 and 1, found 1 of 32"):
        again.predict(pixels(bad=True), verbose=0)


def test_a_function_is_not_saved() -> None:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    judged = tf.keras.Model(model.inputs, expect(model.outputs[0], that=lambda x: x < 1e9))
    with pytest.raises(tensorsleuth.SleuthError, match="a model with a function in it cannot be saved"):
        judged.get_config()


class Module(tf.Module):
    @tf.function
    def double(self, x: Any) -> Any:
        return expect(x, finite=True) * 2

    @tf.function(jit_compile=True)
    def compiled(self, x: Any) -> Any:
        return expect(x, finite=True) * 3

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def signed(self, x: Any) -> Any:
        expect(x, between=(0, 1))
        return x * 4


def test_saved_models_load_without_tensorsleuth(tmp_path: Path) -> None:
    module = Module()
    kept = module.double.get_concrete_function(tf.TensorSpec([1]))  # is saved as it was traced
    assert "SleuthExpect" in {op.type for op in kept.graph.get_operations()}
    module.compiled(tf.ones(1))
    module.signed(tf.ones(1))
    tf.saved_model.save(module, str(tmp_path), signatures=kept)
    program = (
        "import sys; sys.modules['tensorsleuth'] = None\n"
        "import tensorflow as tf\n"
        f"m = tf.saved_model.load({str(tmp_path)!r})\n"
        "x = tf.constant([float('nan')])\n"
        "print(*m.signatures['serving_default'](x).values())\n"
        "print(m.double(x).numpy(), m.compiled(x).numpy(), m.signed(x + 1).numpy())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ})
    assert done.stdout == "tf.Tensor([nan], shape=(1,), dtype=float32)\n[nan] [nan] [nan]\n", done.stderr[-2000:]
    with pytest.raises(ExpectationError):  # what was saved is as it was
        module.double(tf.constant([float("nan")]))
