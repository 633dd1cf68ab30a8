"""Characters that no text should have: found wherever texts come in, and silent about all that is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.recording.eager.text_sample import sample_texts
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
CAUSE = "stray-characters"
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "looked", "at", "birds"]


def texts(bad: int = 8, stray: str = "\x00", count: int = 64) -> list[str]:
    rng = np.random.default_rng(3)
    made = [" ".join(rng.choice(WORDS, 6)) for _ in range(count)]
    for at in range(bad):
        row = count - 1 - at * (count // bad)
        made[row] = made[row].replace(" ", f" {stray}", 1)
    return made


def told(trace: Trace) -> list[Finding]:
    found = tensorsleuth.diagnose(trace)
    return [one for one in (*found.findings, *found.notes) if one.cause == CAUSE]


def line_of(found: Finding) -> str:
    return next(text for number, text in found.source if number == found.line)


def read(batch: Any) -> Any:
    return tf.strings.split(tf.strings.lower(batch))


def slices() -> None:
    data = tf.data.Dataset.from_tensor_slices(texts())  # comes in
    for _ in data.batch(16).map(read):
        pass


def generator() -> None:
    signature = tf.TensorSpec([], tf.string)
    data = tf.data.Dataset.from_generator(lambda: iter(texts()), output_signature=signature)  # comes in
    for _ in data.batch(16).map(read):
        pass


def eager_op() -> None:
    tf.strings.lower(texts())  # comes in


def constant() -> None:
    given = tf.constant(texts())  # comes in
    read(tf.reshape(given, [8, 8]))
    read(given[:12])


def array() -> None:
    given = np.array(texts()).reshape(32, 2)
    read(tf.convert_to_tensor(given[:, 1]))  # comes in


def argument() -> None:
    function = tf.function(read)
    lines = tf.convert_to_tensor(texts())  # comes in
    function(lines)


def drawn_from_files(path: str) -> None:
    for batch in tf.data.TextLineDataset(path).batch(16):
        tf.strings.lower(batch)  # comes in


@pytest.mark.parametrize("program", [slices, generator, eager_op, constant, array, argument])
@pytest.mark.parametrize("probe", ["auto", "numpy"])
def test_it_is_told_once_at_the_line_where_texts_come_in(
    recorded: Recorded, program: Any, probe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLEUTH_PROBE", probe)
    [found] = told(recorded(program))
    assert "# comes in" in line_of(found)
    assert "U+0000 (NUL)" in found.summary and found.severity == "error"
    assert "\\x00" in found.evidence[0].health


def test_texts_that_a_dataset_reads_are_seen_where_they_are_drawn(recorded: Recorded, tmp_path: Any) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(texts()))
    [found] = told(recorded(lambda: drawn_from_files(str(tmp_path / "lines.txt"))))
    assert "# comes in" in line_of(found)


@pytest.mark.parametrize("name", KERASES)
def test_texts_that_a_layer_vectorizes(recorded: Recorded, name: str) -> None:
    layers = kerases.load(name).layers

    def program() -> None:
        layer = layers.TextVectorization()
        layer.adapt(texts())  # comes in
        for batch, _ in tf.data.Dataset.from_tensor_slices((texts(), range(64))).batch(8):
            layer(batch)

    [found] = told(recorded(program))
    assert "# comes in" in line_of(found)


def test_bytes_that_are_in_another_encoding(recorded: Recorded) -> None:
    written = [text.encode("latin-1") for text in texts(stray="é")]
    [found] = told(recorded(lambda: read(tf.constant(written))))
    assert "U+FFFD (replacement character)" in found.summary and "in its own encoding" in (found.fix or "")


def test_fields_of_a_fixed_size(recorded: Recorded) -> None:
    """Filled up with NUL, of which there are more than letters."""
    fields = [text.encode().ljust(60, b"\0").decode() for text in texts(bad=1, stray="")]
    (found,) = told(recorded(lambda: tf.strings.split(tf.constant(fields))))
    assert f"{len(fields)} of {len(fields)}" in found.summary and "U+0000 (NUL)" in found.summary


def test_a_few_are_a_note(recorded: Recorded) -> None:
    [found] = told(recorded(lambda: read(tf.constant(texts(bad=1, count=400)))))
    assert found.severity == "note" and "1 of 400" in found.summary


def test_of_many_texts_some_are_looked_at_from_all_over() -> None:
    given = [f"text {number}" for number in range(100_000)]
    for value in (given, np.array(given, object), tf.constant(given)):
        rows = [row for row, _ in sample_texts(value, 1000)]
        assert len(set(rows)) == 1000 and max(rows[:100]) > 80_000 and min(rows[:100]) < 20_000
        assert all(text == f"text {row}".encode() for row, text in sample_texts(value, 1000))


def example(number: int) -> bytes:
    """Mostly text, as those of a corpus are."""
    text = tf.train.Feature(bytes_list=tf.train.BytesList(value=[" ".join(WORDS * 4).encode()]))
    label = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
    made = tf.train.Example(features=tf.train.Features(feature={"text": text, "label": label}))
    return bytes(made.SerializeToString())


def serialized() -> None:
    rows = [example(number) for number in range(64)]
    spec = {"text": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    data = tf.data.Dataset.from_tensor_slices(rows).map(lambda row: tf.io.parse_single_example(row, spec))
    for _ in data.batch(16).map(lambda row: read(row["text"])):
        pass
    tf.io.parse_example(tf.constant(rows), spec)


def images() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (16, 8, 8, 3)).astype(np.uint8)
    rows = [tf.io.encode_jpeg(one).numpy() for one in pixels]
    for _ in tf.data.Dataset.from_tensor_slices((rows, ["a cat"] * 16)).map(lambda row, _: tf.io.decode_jpeg(row)):
        pass
    read(tf.constant(["a cat"]))


def file_names() -> None:
    for _ in tf.data.Dataset.from_tensor_slices([f"/data/train-{number:05}.txt" for number in range(64)]).map(read):
        pass


def numbers_in_bytes() -> None:
    rows = [np.arange(number, number + 12, dtype=np.int16).tobytes() for number in range(64)]
    for _ in tf.data.Dataset.from_tensor_slices(rows).map(lambda row: tf.io.decode_raw(row, tf.int16)):
        pass
    read(tf.constant(["a cat"]))


def vocabulary() -> None:
    tokens = [chr(number) for number in range(256)]
    keys = tf.constant(tokens)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(256)), -1)
    table.lookup(tf.strings.bytes_split(tf.constant(["a cat"])).values)
    tf.keras.layers.StringLookup(vocabulary=tokens[1:])(tf.constant([["a", "b"]]))


def cleaned() -> None:
    tf.strings.regex_replace(tf.constant(texts()), r"[\x00-\x1f]", " ")


def cleaned_in_a_graph() -> None:
    for _ in tf.data.Dataset.from_tensor_slices(texts()).map(lambda row: tf.strings.regex_replace(row, r"[^a-z ]", "")):
        pass


def separated() -> None:
    for _ in tf.data.Dataset.from_tensor_slices(texts(64, "\x01")).map(lambda row: tf.strings.split(row, "\x01")):
        pass


def never_read() -> None:
    """Keys of a cache: nothing takes them for text."""
    for _ in tf.data.Dataset.from_tensor_slices(texts()).batch(8):
        pass


def healthy() -> None:
    for _ in tf.data.Dataset.from_tensor_slices(["Schöne Grüße\tau\x20", "你好，世界\n", "😀 ok\r\n"] * 20).map(read):
        pass


QUIET = [
    serialized, images, file_names, numbers_in_bytes, vocabulary, cleaned, cleaned_in_a_graph, separated, never_read,
    healthy,
]  # fmt: skip


@pytest.mark.parametrize("program", QUIET)
def test_what_is_no_text_or_taken_out_again_is_no_alarm(recorded: Recorded, program: Any) -> None:
    assert told(recorded(program)) == []


def test_modes_that_look_at_no_values_look_at_no_texts(recorded: Recorded) -> None:
    assert told(recorded(slices, mode="SHAPE")) == []
