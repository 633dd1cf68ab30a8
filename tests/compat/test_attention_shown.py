"""`sleuth attention` and `sleuth layers` on models that train: a healthy one, and one without a mask in one block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import tensorsleuth
from tensorsleuth.analyze.attention.heads import judge
from tensorsleuth.analyze.layers.curves import gradient_flow, residual_growth
from tensorsleuth.cli.main import cli
from tensorsleuth.trace.reader import Trace

BATCH, TIME, WIDTH, HEADS, WORDS, STEPS = 6, 10, 8, 2, 20, 121
DRAW = np.random.default_rng(7)


def batch(draw: Any) -> tuple[Any, Any, Any]:
    """Words that follow from the one before, and padding behind them; the mask; the words one later."""
    starts, lengths = draw.integers(1, WORDS, BATCH), draw.integers(4, TIME - 1, BATCH)
    ids = 1 + (starts[:, None] + 3 * np.arange(TIME)) % (WORDS - 1)
    ids = np.where(np.arange(TIME) < lengths[:, None], ids, 0).astype(np.int32)
    labels = np.concatenate([ids[:, 1:], np.zeros((BATCH, 1), np.int32)], 1)
    return tf.constant(ids), tf.constant((ids > 0).astype(np.int32)), tf.constant(labels)


class LanguageModel:
    """Three blocks of attention and a dense layer, written by hand; `open_` names the block without a causal mask."""

    def __init__(self, open_: int | None = None, padding: bool = True) -> None:
        draw = np.random.default_rng(3)
        self.open, self.padding = open_, padding
        self.variables: dict[str, Any] = {}
        for name, shape in {"words": (WORDS, WIDTH), "places": (TIME, WIDTH), "head": (WIDTH, WORDS)}.items():
            self.variables[name] = tf.Variable(draw.normal(size=shape).astype(np.float32), name=f"lm/{name}/kernel")
        for block in range(3):
            for name in ("query", "key", "value", "dense"):
                start = draw.normal(size=(WIDTH, WIDTH)).astype(np.float32) / 3
                path = f"lm/block_{block}/{name}"
                self.variables[path] = tf.Variable(start, name=f"{path}/kernel")

    def project(self, x: Any, block: int, name: str) -> Any:
        made = tf.matmul(x, self.variables[f"lm/block_{block}/{name}"])
        return tf.transpose(tf.reshape(made, [BATCH, TIME, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])

    def attend(self, x: Any, mask: Any, block: int) -> Any:
        query, key, value = (self.project(x, block, name) for name in ("query", "key", "value"))
        scores = tf.matmul(query, key, transpose_b=True) / 2.0
        seen = tf.ones([TIME, TIME]) if block == self.open else tf.linalg.band_part(tf.ones([TIME, TIME]), -1, 0)
        if self.padding:
            seen = seen * tf.cast(mask[:, None, None, :], tf.float32)
        mixed = tf.matmul(tf.nn.softmax(scores - 1e9 * (1 - seen)), value)
        return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [BATCH, TIME, WIDTH])

    def call(self, ids: Any, mask: Any) -> Any:
        x = tf.gather(self.variables["words"], ids) + self.variables["places"]
        for block in range(3):
            with tf.name_scope(f"lm/block_{block}/"):
                with tf.name_scope("mixer"):
                    x = x + self.attend(x, mask, block)
                with tf.name_scope("ffn"):
                    x = x + tf.nn.relu(tf.matmul(x, self.variables[f"lm/block_{block}/dense"]))
        return tf.matmul(x, self.variables["head"])

    def train(self, path: Path) -> Path:
        variables = list(self.variables.values())

        @tf.function
        def train_step(input_ids: Any, attention_mask: Any, labels: Any) -> None:
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, self.call(input_ids, attention_mask))
                loss = tf.reduce_mean(losses * tf.cast(labels > 0, tf.float32))
            for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
                variable.assign_sub(0.02 * tf.convert_to_tensor(gradient))

        draw = np.random.default_rng(5)
        with tensorsleuth.record(path, inside_every=40) as recording:
            for _ in range(STEPS):
                train_step(*batch(draw))
        assert recording.path is not None
        return Path(recording.path)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return LanguageModel().train(tmp_path_factory.mktemp("runs"))


def test_a_healthy_model_is_not_remarkable(healthy: Path) -> None:
    inside = Trace(healthy).inside()
    assert [one.name for one in inside.attention] == [f"lm/block_{block}/mixer" for block in range(3)]
    assert len(inside.inputs) == 3 and inside.attention[0].steps[-1] == 120
    assert [remark.sentence for remark in judge(inside.attention, inside.inputs)] == []


def test_a_block_that_looks_ahead(tmp_path: Path) -> None:
    inside = Trace(LanguageModel(open_=1).train(tmp_path)).inside()
    (found,) = judge(inside.attention, inside.inputs)
    assert (found.what, found.layer, found.heads) == ("looks-ahead", "lm/block_1/mixer", (0, 1))
    assert found.file == __file__ and found.evidence["ahead"] > 0.05


def test_a_block_that_sees_padding(tmp_path: Path) -> None:
    """Without both masks it sees the padding behind the words, too."""
    inside = Trace(LanguageModel(open_=1, padding=False).train(tmp_path)).inside()
    found = {remark.what: remark for remark in judge(inside.attention, inside.inputs)}
    assert set(found) == {"looks-ahead", "on-padding"} and found["on-padding"].severity == "error"
    assert {remark.layer for remark in found.values()} == {"lm/block_1/mixer"}


def test_layers_of_the_model(healthy: Path) -> None:
    inside = Trace(healthy).inside()
    order = [one.name for one in gradient_flow(inside) if "block" in one.name]
    blocks = [name.split("/")[1] for name in order]
    assert blocks == sorted(blocks, reverse=True) and set(blocks) == {"block_0", "block_1", "block_2"}
    assert all(len(one.sizes) == len(one.layers) for one in residual_growth(inside.layers))


@pytest.mark.parametrize(
    "command", [["attention"], ["attention", "--head", "1"], ["layers"], ["layers", "--gradients"]]
)
@pytest.mark.parametrize("columns", [80, 120])
def test_the_commands(healthy: Path, command: list[str], columns: int) -> None:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, [command[0], str(healthy), *command[1:]])
    assert result.exit_code == 0 and "lm/block_1" in result.output
    told = [line for line in result.output.splitlines() if not line.startswith(" sleuth ")]  # commands have their paths
    assert max(map(len, told)) <= columns
