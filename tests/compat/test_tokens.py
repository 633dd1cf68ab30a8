"""Tokens as TensorFlow and Keras hold them; the examples of docs/transformers.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.unit.token_batches import HuggingFaces, bert

import tensorsleuth
from tensorsleuth import check_batch

BLOCKS = re.findall(r"```(?:python)?\n(.*?)```", (Path(__file__).parents[2] / "docs/transformers.md").read_text(), re.S)


def damaged() -> dict[str, Any]:
    batch = bert(40)
    batch["input_ids"][33, 2] = 77
    return batch


def as_rows(batch: dict[str, Any]) -> list[list[int]]:
    return [[int(one) for one in row if one] for row in batch["input_ids"]]


def forms(batch: dict[str, Any]) -> dict[str, Any]:
    slices = tf.data.Dataset.from_tensor_slices
    return {
        "tensors": {name: tf.constant(array) for name, array in batch.items()},
        "tuple": (tf.constant(batch["input_ids"]), tf.constant(np.arange(40) % 2)),
        "ragged": {"input_ids": tf.ragged.constant(as_rows(batch))},
        "rows": slices(batch),
        "batches": slices(batch).batch(7),
        "batches of pairs": slices((batch, np.arange(40) % 2)).batch(7),
        "ragged batches": slices({"input_ids": tf.ragged.constant(as_rows(batch))}).batch(7),
    }


@pytest.mark.parametrize("form", list(forms(bert(40))))
def test_forms(form: str) -> None:
    fine = check_batch(forms(bert(40))[form], tokenizer=HuggingFaces())
    assert fine.violations == (), fine
    assert fine.rows == {"data": 40}
    (found,) = check_batch(forms(damaged())[form], tokenizer=HuggingFaces())
    assert (found.rule, found.positions) == ("vocabulary", ((33, 2),))


def test_records(tmp_path: Path) -> None:
    path = tmp_path / "tokens.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in as_rows(damaged()):
            ids = tf.train.Feature(int64_list=tf.train.Int64List(value=row))
            writer.write(tf.train.Example(features=tf.train.Features(feature={"input_ids": ids})).SerializeToString())
    report = check_batch(path, tokenizer=HuggingFaces())
    assert [(one.rule, one.positions) for one in report] == [("vocabulary", ((33, 2),))] and report.rows == {"data": 40}


def test_text_vectorization() -> None:
    layer = tf.keras.layers.TextVectorization(output_sequence_length=6)
    texts = ["the cat sat", "a dog ran off then", "the dog sat on a mat"]
    layer.adapt(texts)
    ids = np.array(layer(texts))
    assert check_batch(ids, tokenizer=layer).violations == ()
    ids[1, 1] = 50
    (found,) = check_batch(ids, tokenizer=layer)
    assert found.rule == "vocabulary" and "<50>" in found.first and "dog" not in found.expected


def test_what_is_recorded(tmp_path: Path) -> None:
    batch = bert()
    bad = batch | {"attention_mask": 1 - batch["attention_mask"]}
    with tensorsleuth.record(tmp_path) as recording:
        check_batch(bad, tokenizer=HuggingFaces(), on_violation="record")
    (found,) = tensorsleuth.open(recording.path).violations
    assert found.rule == "mask-inverted" and found.file == __file__


def test_the_examples_of_the_docs(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    programs = [block for block in BLOCKS if "tensorsleuth.check_batch" in block or "report.errors" in block]
    shown = next(block for block in BLOCKS if block.startswith(" BROKEN"))
    names: dict[str, Any] = {}
    exec(compile(programs[0], "docs/transformers.md, example 1", "exec"), names)
    said = re.sub(r"\d+\.\d s$", "0.0 s", capfd.readouterr().out, flags=re.M)
    assert said.rstrip() == shown.rstrip()
    for number, program in enumerate(programs[1:], 2):
        exec(compile(program, f"docs/transformers.md, example {number}", "exec"), names)
    assert len(programs) == 2
