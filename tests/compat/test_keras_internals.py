"""Each private part of Keras, and of name scopes, that recording/ touches is there, and does what is assumed."""

from __future__ import annotations

import inspect
import sys
from typing import Any
from unittest.mock import Mock

import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tests.compat import kerases
from tests.compat.kerases import KERASES, X, Y

from tensorsleuth.recording.keras import internals as private
from tensorsleuth.recording.keras.variable_paths import KerasVariables
from tensorsleuth.recording.tensorflow import internals as private_tf

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:random")  # what Keras 2 does when seeded


@pytest.fixture(params=KERASES)
def keras(request: pytest.FixtureRequest) -> Any:
    loaded = kerases.load(request.param)
    assert loaded.callbacks.CallbackList
    return loaded


def test_the_list_of_callbacks_is_found(keras: Any) -> None:
    assert keras.callbacks.CallbackList in list(private.callback_lists())
    assert keras.callbacks.Callback in private.callback_classes()


@pytest.mark.parametrize("phase", ["train", "test", "predict"])
def test_it_has_the_methods_that_are_watched(keras: Any, phase: str) -> None:
    listed = keras.callbacks.CallbackList
    for name in (f"on_{phase}_begin", f"on_{phase}_end"):
        assert list(inspect.signature(getattr(listed, name)).parameters)[1] == "logs"
    assert list(inspect.signature(getattr(listed, f"on_{phase}_batch_begin")).parameters)[1] == "batch"
    assert list(inspect.signature(listed.on_epoch_begin).parameters)[1] == "epoch"


def test_a_list_knows_its_model_and_callbacks(keras: Any) -> None:
    seen = []

    class Spy(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            around = private.callback_list_around(sys._getframe(1), self)
            seen.append(around is not None and around.model is self.model and self in around.callbacks)

    model = kerases.sequential(keras)
    model.compile("sgd", "mse", steps_per_execution=2)
    model.fit(X, Y, batch_size=24, verbose=0, callbacks=[Spy()])
    assert seen == [True]
    assert private.batches_at_once(model) == 2


def test_what_a_fit_feeds_eagerly_and_how_long_it_takes(keras: Any) -> None:
    """Names of what its step takes are read from the frames of a fit."""
    model = kerases.sequential(keras)
    model.compile("sgd", lambda goals, made: _fed(seen, goals, made), run_eagerly=True)

    class Plan(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            around = private.callback_list_around(inspect.currentframe(), self)
            plans.append(private.planned_steps(around))

    seen: list[str | None] = []
    plans: list[Any] = []
    model.fit(X[:8], Y[:8], batch_size=4, epochs=2, verbose=0, callbacks=[Plan()])
    function = "train_function" if hasattr(keras, "__internal__") else "multi_step_on_iterator"
    assert set(seen) <= {f"{function}/1", "one_step_on_iterator/1"} and len(seen) == 4
    assert plans == [(2, 2), (2, 2)]


def _fed(seen: list[str | None], goals: Any, made: Any) -> Any:
    seen.append(private.feed_name(inspect.currentframe(), lambda data: "1" if len(data) == 2 else None))
    return tf.reduce_mean(tf.abs(made - goals))


def test_variables_have_paths_roles_and_one_handle(keras: Any) -> None:
    model = kerases.encoder(keras)
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, Y, verbose=0)
    found = {path: (role, private.variable_uid(variable)) for variable, path, role in private.model_variables(model)}
    assert found["encoder/block_2/ffn/dense_1/kernel"][0] == ""
    assert found["loss/total"][0] == "metric"
    assert "optimizer" in {role for role, _ in found.values()}
    assert all(isinstance(uid, int) for _, uid in found.values())
    assert len(model.variables) <= len(found)


def test_a_model_without_variables_yet_has_none(keras: Any) -> None:
    assert not [path for _, path, role in private.model_variables(kerases.encoder(keras)) if not role]


def test_whose_scope_is_opened(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = []
    real = ops.name_scope_v2.__enter__

    def enter(self: Any) -> Any:
        frame = sys._getframe(1)
        while frame.f_code.co_name == "__enter__" and frame.f_back is not None:
            frame = frame.f_back
        parts.append((private.scope_owner(frame, self._name), private_tf.opens_scope_of_op(frame)))
        return real(self)

    model = kerases.sequential(keras)
    model.compile("adam", "mse")
    monkeypatch.setattr(ops.name_scope_v2, "__enter__", enter)
    model.fit(X, Y, verbose=0)
    named = {part for part, _ in parts if part}
    assert {part.split()[0] for part in named} >= {"loss", "optimizer"}
    assert (None, False) in parts, "layers"


def test_keras_3_makes_variables_in_one_place() -> None:
    found = list(private.variable_classes())
    if private_tf.version() < (2, 16):
        assert not found
        return
    (variable,) = found
    assert list(inspect.signature(variable._initialize).parameters) == ["self", "value"]


@pytest.mark.skipif(private_tf.version() < (2, 16), reason="Keras 2 has no variables of its own")
def test_a_variable_of_keras_3_is_known_while_it_is_made() -> None:
    """The first op of a program that imports Keras may be that which fills its first variable."""
    (kind,) = private.variable_classes()
    found: list[Any] = []

    def fill(shape: Any, dtype: Any) -> Any:
        found.extend(private.variables_being_made(kind))
        return tf.zeros(shape, dtype)

    made = kind(fill, shape=[2], name="first")
    made.trainable = False
    assert len(found) == 1 and found[0] is made
    known = KerasVariables(Mock())
    known.note_unfinished(made)
    assert private.variable_uid(made) in known.frozen_uids() and known.path_of(private.variable_uid(made)) == made.path


def test_scopes_of_eager_code_are_set_through_one_property() -> None:
    assert isinstance(context.Context.scope_name, property) and context.Context.scope_name.fset is not None
    with tf.name_scope("a"), tf.name_scope("b"):
        assert private_tf.eager_scope() == "a/b/"
    assert private_tf.eager_scope() == ""


@pytest.mark.parametrize("kind", ["name_scope_v2", "internal_name_scope_v1"])
def test_scopes_of_graphs_know_what_was_asked_for(kind: str) -> None:
    with tf.Graph().as_default():
        for expected in ("a/", "a_1/"):
            scope = getattr(ops, kind)("a")
            with scope as name:
                assert (scope._name, name) == ("a", expected)


@pytest.mark.parametrize("legacy", [False, True])
def test_an_optimizer_of_keras_2_makes_its_slots_by_a_method_that_is_watched(
    keras: Any, legacy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hasattr(keras, "Variable"):
        pytest.skip("Keras 3 makes them as variables of its own class")
    optimizer = (keras.optimizers.legacy if legacy else keras.optimizers).Adam(0.1)
    seen: list[int] = []
    for owner, method in private.slot_methods():
        real = getattr(owner, method)

        def spy(self: Any, *args: Any, real: Any = real, **kwargs: Any) -> Any:
            made = real(self, *args, **kwargs)
            known = private.optimizer_variables(self)
            assert self is optimizer and known, "they are known once the method has returned"
            if made is not None:  # a slot; `build` makes all of them and returns none
                assert any(one is made for one in known)
                seen.append(private.variable_uid(made) or 0)
            return made

        monkeypatch.setattr(owner, method, spy)
    optimizer.apply_gradients([(tf.ones([3]), tf.Variable(tf.ones([3])))])
    assert len(seen) == 2 and all(seen), "momentum and velocity"
