"""What the page is told of the inside of a model: attention, layers, gradients, updates."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples
from tests.unit import little_inside, little_run
from tests.unit.inside_run import InsideRun
from tests.unit.little_inside import ATTENTION, KEY, OUTPUT, QUERY, SIZE, statistics, weights
from tests.unit.page_client import ask
from tests.unit.test_trace_fuzz import FUZZ, changes

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import Vocabulary, vocabulary_of_tokens
from tensorsleuth.trace.series.attention import HEAD_STATISTICS
from tensorsleuth.ui.web.answers.attention import packed
from tensorsleuth.ui.web.export import embedded_layer_stats
from tensorsleuth.ui.web.export.embedded_layer_stats import embed_layer_stats
from tensorsleuth.ui.web.export.local_client import LocalClient
from tensorsleuth.ui.web.run.errors import BadRequest, NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.server.run_cache import CachedRun

FILES = ("inside.bin", "inside_value_rows.bin", "inside_values.bin")
WORDS = vocabulary_of_tokens([f"word{number}" for number in range(10)])
ONE = f"attention/0.{ATTENTION}"


def run(folder: Path) -> Path:
    return little_inside.add(little_run.write(folder / "little", folder / "train.py"))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    return OpenRun(run(tmp_path_factory.mktemp("runs")), WORDS)


@pytest.fixture
def plain(tmp_path: Path) -> OpenRun:
    """A run in which nothing was looked at."""
    return OpenRun(little_run.write(tmp_path / "plain", tmp_path / "train.py"))


def floats(text: str, *shape: int) -> Array:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(shape)


def test_which_attention_there_is(opened: OpenRun) -> None:
    (item,) = ask(opened, "attention")["items"]
    assert ask(opened, "inside") == {"attention": 1, "layers": 4}
    assert (item["id"], item["name"], item["by"]) == (f"0.{ATTENTION}", "net/hidden", "replay")
    assert (item["heads"], item["shown"], item["samples"], item["queries"], item["keys"]) == (3, 3, 2, 3, 3)
    assert item["steps"] == [0, 1, 3] and item["place"]["line"] == 7


def test_the_numbers_of_heads_over_steps(opened: OpenRun) -> None:
    lines = ask(opened, f"{ONE}/heads")
    assert lines["steps"] == [0, 1, 3] and list(lines["columns"]) == ["entropy", "distance", "sink"]
    expected = np.stack([statistics(step)[HEAD_STATISTICS.index("sink")] for step in (0, 1, 3)], axis=1)
    np.testing.assert_allclose(lines["columns"]["sink"], expected)


def test_the_weights_of_a_head_are_those_that_were_kept(opened: OpenRun) -> None:
    found = ask(opened, f"{ONE}/weights", step=1, sample=1, head=2)
    assert (found["step"], found["sample"], found["head"]) == (1, 1, 2)
    np.testing.assert_allclose(floats(found["cells"], SIZE, SIZE), weights(1)[1, 2], rtol=0, atol=1e-5)
    assert (found["rowBlock"], found["columnBlock"], found["queries"], found["keys"]) == (1, 1, 3, 3)
    assert found["numbers"]["entropy"] == statistics(1)[0, 2]


@pytest.mark.parametrize(("step", "seen"), [(None, 3), (2, 1), (99, 3)])
def test_the_look_until_a_step(opened: OpenRun, step: int | None, seen: int) -> None:
    asked = {} if step is None else {"step": step}
    assert ask(opened, f"{ONE}/weights", **asked)["step"] == seen


def test_small_pictures_have_the_largest_weight_in_full(opened: OpenRun) -> None:
    thumbs = ask(opened, f"{ONE}/thumbs", step=0, sample=1)
    assert (thumbs["rows"], thumbs["columns"], len(thumbs["heads"])) == (3, 3, 3)
    shades = np.frombuffer(base64.b64decode(thumbs["heads"][2]), np.uint8).reshape(3, 3)
    head = weights(0)[1, 2]
    np.testing.assert_array_equal(shades, (head / head.max() * 255).round())


@pytest.mark.parametrize(("vocabulary", "words"), [(WORDS, ["word8", "word9", "word5"]), (None, None)])
def test_tokens_on_the_axes(tmp_path: Path, vocabulary: Vocabulary | None, words: list[str] | None) -> None:
    found = ask(OpenRun(run(tmp_path), vocabulary), f"{ONE}/weights", sample=1)
    assert found["key"] == found["query"] == {"ids": ["8", "9", "5"], "words": words}


def test_layers_by_steps(opened: OpenRun) -> None:
    layers = ask(opened, "layers")
    assert (layers["kinds"], layers["kind"], layers["why"]) == (["output", "gradient", "update"], "output", None)
    (row,) = layers["rows"]
    assert (row["id"], row["name"], row["shape"], row["place"]["line"]) == (f"0.{OUTPUT}", "net/hidden", [2, 3], 7)
    assert layers["steps"] == [0, 1, 3] and (layers["looks"], layers["leftOut"]) == (3, 0)
    expected = {"norm": [2.0, 3.0, 5.0], "zeros": [0.5] * 3, "dead": [0.25] * 3, "mean": [0.5, 0.6, 0.5]}
    for name, numbers in expected.items():
        np.testing.assert_allclose(floats(layers["measures"][name], 3), numbers, rtol=1e-6, err_msg=name)
    assert floats(layers["bad"], 3).tolist() == [0, 1, 0]


def test_gradients_come_from_the_last_layer_to_the_first(opened: OpenRun) -> None:
    layers = ask(opened, "layers", kind="gradient")
    assert [row["id"] for row in layers["rows"]] == [f"0.{KEY}", f"0.{QUERY}"] and layers["bad"] is None
    norms = floats(layers["measures"]["norm"], 2, 3)
    np.testing.assert_allclose(norms, [[np.nan, 7, 7], [1, 0.1, 0.001]], rtol=1e-6)
    assert "dead" not in layers["measures"]


def test_how_far_a_step_moves_the_weights(opened: OpenRun) -> None:
    layers = ask(opened, "layers", kind="update")
    np.testing.assert_allclose(floats(layers["measures"]["ratio"], 3), [0.05] * 3)


def test_from_a_layer_to_its_tensor_and_line(opened: OpenRun) -> None:
    for id in (ATTENTION, OUTPUT):
        spot = ask(opened, "layers/at", id=f"0.{id}", step=1)
        assert spot["place"]["line"] == 7
        row = ask(opened, f"tensors/{spot['tensor']}")
        assert (row["name"], row["step"]) == ("net/hidden/Softmax:0", 1)
    assert ask(opened, "layers/at", id=f"0.{OUTPUT}", step=99)["tensor"] is None
    assert ask(opened, "layers/at", id=f"0.{QUERY}", step=1) == {"tensor": None, "place": None}


def test_what_is_not_there(opened: OpenRun) -> None:
    for path, asked in (
        (f"attention/0.{OUTPUT}/heads", {}),
        ("attention/1.1/weights", {}),
        ("layers/at", {"id": "0.99"}),
    ):
        with pytest.raises(NotFound):
            ask(opened, path, **asked)
    for path, asked in (("attention/x/heads", {}), ("layers", {"kind": "colour"})):
        with pytest.raises(BadRequest):
            ask(opened, path, **asked)


def test_a_run_without_looks_says_why(plain: OpenRun) -> None:
    assert ask(plain, "inside") == {"attention": 0, "layers": 0}
    attention, layers = ask(plain, "attention"), ask(plain, "layers")
    assert attention["items"] == attention["remarks"] == layers["rows"] == layers["kinds"] == []
    assert "Record it again" in attention["why"] and attention["why"] == layers["why"]


def test_what_gave_way_or_is_damaged_is_refused_in_words(tmp_path: Path) -> None:
    path = run(tmp_path)
    (values,) = path.glob("p-*/inside_values.bin")
    values.write_bytes(values.read_bytes()[:100])
    damaged = OpenRun(path)
    for question in (f"{ONE}/weights", f"{ONE}/thumbs", f"{ONE}/weights?step=0"):
        with pytest.raises(SleuthError, match=r"gave way|cannot be read"):
            ask(damaged, question.partition("?")[0], **({"step": 0} if "?" in question else {}))
    assert ask(damaged, "layers")["rows"] and ask(damaged, "inside")["attention"] == 1


@settings(FUZZ, max_examples=examples(25))
@given(name=st.sampled_from(FILES), some=st.lists(changes(), min_size=1, max_size=3))
def test_files_that_are_damaged(
    tmp_path_factory: pytest.TempPathFactory, name: str, some: list[Callable[[bytearray], None]]
) -> None:
    path = run(tmp_path_factory.mktemp("damaged"))
    (file,) = path.glob(f"p-*/{name}")
    data = bytearray(file.read_bytes())
    for change in some:
        change(data)
    file.write_bytes(data)
    assert all(len(said) > 15 and "\n" not in said for said in refusals(OpenRun(path, WORDS)))


def refusals(opened: OpenRun) -> Iterator[str]:
    """What it does not answer, in words; what it answers is JSON."""
    asked: list[tuple[str, Any]] = [
        (path, {}) for path in ("inside", "attention", "layers", f"{ONE}/heads", f"{ONE}/thumbs")
    ]
    asked += [("layers", {"kind": kind}) for kind in ("gradient", "update", "variable")]
    asked += [(f"{ONE}/weights", {"step": step}) for step in (0, 3)] + [("layers/at", {"id": f"0.{OUTPUT}"})]
    for path, parameters in asked:
        try:
            ask(opened, path, **parameters)
        except SleuthError as error:
            yield str(error)


@pytest.mark.parametrize("shape", [(300, 700), (5, 5), (1, 64), (33, 31)])
def test_smaller_weights_still_sum_to_one(shape: tuple[int, int]) -> None:
    drawn = np.random.default_rng(1).random(shape)
    small = packed.shrink_weights(drawn / drawn.sum(-1, keepdims=True), 32)
    assert small.shape == (min(shape[0], 32), min(shape[1], 32))
    np.testing.assert_allclose(small.sum(-1), 1)


def test_an_exported_page_takes_along_what_it_shows_first(opened: OpenRun) -> None:
    asking = LocalClient(CachedRun(opened), 5_000_000)
    embed_layer_stats(asking)
    base = f"api/runs/little/{ONE}"
    wanted = [f"{base}/heads", f"{base}/thumbs?sample=0&step=3", f"{base}/weights?head=2&sample=0&step=3"]
    wanted += [f"api/runs/little/{path}" for path in ("inside", "attention", "layers", "layers?kind=update")]
    assert set(wanted) <= set(asking.answers)


def test_it_takes_no_more_pictures_than_there_is_room_for(opened: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_layer_stats, "MAX_PICTURE_BYTES", 1)
    asking = LocalClient(CachedRun(opened), 5_000_000)
    embed_layer_stats(asking)
    assert [address for address in asking.answers if ONE in address] == [f"api/runs/little/{ONE}/heads"]


def test_layers_full_of_nan_are_drawn_as_bad(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("output", "dense", [0.0, 0.0], (3, 4), nan=12)
    made.numbers("gradient", "dense/kernel", [0.0, 0.0], (3, 4), zero=12)
    opened = OpenRun(made.write())
    outputs, gradients = ask(opened, "layers"), ask(opened, "layers", kind="gradient")
    assert list(outputs["measures"]) == ["norm"] and np.isnan(floats(outputs["measures"]["norm"], 2)).all()
    assert floats(outputs["bad"], 2).tolist() == [12, 12]
    assert floats(gradients["measures"]["norm"], 2).tolist() == [0, 0] and gradients["bad"] is None
