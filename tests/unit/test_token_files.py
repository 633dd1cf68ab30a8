"""`sleuth data check --tokens`: files, vocabularies, what people see, exit codes, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from click.testing import CliRunner, Result
from tests.unit.token_batches import WORDS, Gpt2s, HuggingFaces, KerasHubs, bert

from tensorsleuth import SleuthError, check_batch
from tensorsleuth.cli.main import cli
from tensorsleuth.data.check_data import check
from tensorsleuth.data.tokens.tokenizers import vocabulary_of


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("vocab.txt").write_text("\n".join(WORDS) + "\n")
    return tmp_path


def sleuth(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ("data", "check", *arguments))


def listed(batch: dict[str, Any]) -> list[dict[str, Any]]:
    """A row at a time, without padding."""
    return [
        {"input_ids": [int(one) for one in row if one], "label": at % 2} for at, row in enumerate(batch["input_ids"])
    ]


def write(suffix: str, batch: dict[str, Any]) -> str:
    rows, name = listed(batch), f"tokens{suffix}"
    if suffix == ".npz":
        np.savez(name, **batch)
    elif suffix == ".jsonl":
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == ".csv":
        pandas.DataFrame(rows).to_csv(name, index=False)
    else:
        pandas.DataFrame(rows).to_parquet(name)
    return name


@pytest.mark.parametrize("suffix", [".npz", ".jsonl", ".csv", ".parquet"])
def test_files(suffix: str) -> None:
    batch = bert(50)
    fine = sleuth(write(suffix, batch), "--tokens", "--vocab", "vocab.txt")
    assert fine.exit_code == 0, fine.output
    assert " OK " in fine.stdout and "ids input_ids" in fine.stdout and "vocabulary of 14 · padding 0" in fine.stdout
    batch["input_ids"][7, 2] = 99
    bad = sleuth(write(suffix, batch), "--tokens", "--vocab", "vocab.txt", "--json")
    said = json.loads(bad.stdout)
    assert bad.exit_code == 1 and said["verdict"] == "problem" and said["read"][0]["rows"] == 50
    (found,) = said["violations"]
    assert (found["rule"], found["positions"]) == ("vocabulary", [[7, 2]]) and "<99>" in found["values"][0]


def test_what_people_see() -> None:
    batch = bert(50)
    batch["attention_mask"] = 1 - batch["attention_mask"]
    done = sleuth(write(".npz", batch), "--tokens", "--vocab", "14", "--pad", "0")
    assert done.exit_code == 1 and all(len(line) <= 80 for line in done.stdout.splitlines())
    for part in (
        "BROKEN",
        "1 violation",
        "✗  attention_mask",
        "the mask is inverted",
        "Invert it: 1 - attention_mask",
    ):
        assert part in done.stdout, part
    assert "schema" not in done.output


def test_two_files_and_the_options() -> None:
    train, held_out = bert(30, seed=1), bert(10, seed=2)
    held_out["input_ids"][3] = train["input_ids"][20]
    held_out["attention_mask"] = (held_out["input_ids"] != 0).astype(np.int32)
    np.savez("train.npz", **train)
    np.savez("val.npz", **held_out)
    done = sleuth("train.npz", "val.npz", "--tokens", "--json")
    (found,) = json.loads(done.stdout)["violations"]
    assert (found["rule"], found["where"], found["positions"]) == ("overlap", "validation", [[3]])
    ids = train["input_ids"][:, :10]
    np.savez("labelled.npz", input_ids=ids, labels=np.where(ids == 0, -1, ids))
    told = sleuth(
        "labelled.npz", "--tokens", "--ignore", "-1", "--shifted-by", "data", "--pad", "0", "--causal", "--json"
    )
    assert [one["rule"] for one in json.loads(told.stdout)["violations"]] == ["labels-shift"] and told.exit_code == 1
    fine = sleuth("labelled.npz", "--tokens", "--ignore", "-1", "--shifted-by", "model", "--pad", "0")
    assert fine.exit_code == 0 and "nothing wrong" in fine.stdout
    np.savez("long.npz", input_ids=np.random.default_rng(0).integers(1, 50, (8, 12)))
    assert "most rows shorter than 12 tokens" in " ".join(
        sleuth("long.npz", "--tokens", "--max-length", "12").stdout.split()
    )


def test_text_files() -> None:
    Path("text.txt").write_bytes(b"hello world\ncaf\xe9\nok then\r\n")
    done = sleuth("text.txt", "--tokens", "--json")
    (found,) = json.loads(done.stdout)["violations"]
    assert done.exit_code == 1 and (found["rule"], found["positions"]) == ("stray-characters", [[1]])
    Path("text.txt").write_text("hello world\nok then\n")
    assert sleuth("text.txt", "--tokens").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("good.npz", "--vocab", "14"), "--vocab is about tokens: add --tokens."),
        (("good.npz", "--tokens", "--schema", "s.toml"), "--schema is not about tokens"),
        (("good.npz", "--tokens", "--vocab", "none.txt"), "none.txt is not there. --vocab takes a file of tokens"),
        (("good.npz", "--tokens", "--vocab", "."), ". is a folder"),
        (("good.npz", "--tokens", "--vocab", "empty.txt"), "empty.txt has no tokens"),
        (("good.npz", "--tokens", "--vocab", "bad.json"), "bad.json is not JSON"),
        (("good.npz", "--tokens", "--vocab", "number.json"), "number.json holds no vocabulary"),
        (("images.npz", "--tokens"), "images.npz has neither token ids nor text: it has image (float32)"),
        (("broken.jsonl", "--tokens"), "broken.jsonl is not JSON in line 2"),
        (("list.jsonl", "--tokens"), "list.jsonl has no object in line 1"),
        (
            ("deep.jsonl", "--tokens"),
            "deep.jsonl has objects or lists of lists in a. Numbers, text and lists of them can be read.",
        ),
        (("blank.jsonl", "--tokens"), "blank.jsonl has no rows"),
        (("none.jsonl", "--tokens"), "none.jsonl is not there"),
    ],
)
def test_what_cannot_be_read(arguments: tuple[str, ...], sentence: str) -> None:
    np.savez("good.npz", **bert())
    np.savez("images.npz", image=np.zeros((3, 8, 8), np.float32))
    for name, text in {
        "empty.txt": "",
        "bad.json": "{",
        "number.json": "3",
        "broken.jsonl": '{"a": 1}\n{"a": \n',
        "list.jsonl": "[1]\n",
        "deep.jsonl": '{"a": [[1]]}\n',
        "blank.jsonl": "\n\n",
    }.items():
        Path(name).write_text(text)
    done = sleuth(*arguments)
    assert done.exit_code == 2 and f"sleuth: {sentence}" in done.stderr and "Traceback" not in done.output


def test_json_lines_are_data_as_others() -> None:
    rows = [{"x": at / 7, "n": at, "word": "abc"[at % 3], "ragged": list(range(at % 4))} for at in range(40)]
    rows[5]["x"], rows[6]["n"] = float("nan"), None
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = {(one.rule, one.name): one.positions for one in check(None, "rows.jsonl")}
    assert found["finite", "x"] == ((5,),) and found["finite", "n"] == ((6,),)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vocab.txt", "\n".join(WORDS) + "\n"),
        ("sp.vocab", "".join(f"{word}\t-{at}.5\n" for at, word in enumerate(WORDS))),
        ("vocab.json", json.dumps({word: at for at, word in enumerate(WORDS)})),
        ("list.json", json.dumps(WORDS)),
        (
            "tokenizer.json",
            json.dumps(
                {
                    "model": {"vocab": {word: at for at, word in enumerate(WORDS[:-1])}},
                    "added_tokens": [{"id": 13, "content": "off"}],
                }
            ),
        ),
        ("unigram.json", json.dumps({"model": {"vocab": [[word, -1.5] for word in WORDS]}})),
    ],
)
def test_vocabularies_in_files(name: str, text: str) -> None:
    Path(name).write_text(text)
    read = vocabulary_of(name)
    assert (read.size, read.start_id, read.end_id, read["pad"], read.word(6), read.word(13)) == (
        14,
        2,
        3,
        0,
        "cat",
        "off",
    )


class Plain:
    """As a tokenizer of the `tokenizers` library is asked."""

    def get_vocab_size(self) -> int:
        return 3

    def id_to_token(self, number: int) -> str | None:
        return "abc"[number]


class Vectorizer:
    """As Keras's TextVectorization is asked."""

    def get_vocabulary(self) -> list[str]:
        return ["", "[UNK]", "cat"]


def test_tokenizers() -> None:
    of_face, of_hub, gpt2 = (vocabulary_of(one) for one in (HuggingFaces(), KerasHubs(), Gpt2s()))
    assert (of_face.size, of_face.start_id, of_face.end_id, of_face.max_length) == (14, 2, 3, None)
    assert (of_hub.size, of_hub.start_id, of_hub.end_id, of_hub["pad"], of_hub.word(1)) == (14, 1, 2, 0, "<s>")
    assert (gpt2.size, gpt2["pad"], gpt2.end_id, gpt2.word(49), gpt2.word(7)) == (50, 49, 49, "<|endoftext|>", "w7")
    keras = vocabulary_of(Vectorizer())
    assert (keras.size, keras["pad"], keras["unk"], keras.word(2), keras.word(0)) == (3, 0, 1, "cat", "<0>")
    plain = vocabulary_of(Plain())
    assert (plain.size, plain.word(1), plain.word(7), plain.specials) == (3, "b", "<7>", {})
    both = vocabulary_of(HuggingFaces(), 20)
    assert (both.size, both.word(6), both.word(17)) == (20, "cat", "<17>"), "the model may have more than the tokenizer"
    roberta = vocabulary_of(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    assert (roberta.start_id, roberta.end_id, roberta["pad"]) == (0, 2, 1)


def test_a_tokenizer_that_raises_costs_only_the_words() -> None:
    class Broken(HuggingFaces):
        def convert_ids_to_tokens(self, number: int) -> str:
            raise KeyError(number)

    batch = bert()
    batch["attention_mask"][2, 1] = 0
    (found,) = check_batch(batch, tokenizer=Broken())
    assert f"<{batch['input_ids'][2, 1]}>" in found.first


def test_frames_and_rows_of_lists() -> None:
    frame = pandas.DataFrame(listed(bert(20)))
    assert check_batch(frame, vocabulary=14)
    frame.at[4, "input_ids"] = [2, 50, 3]
    (found,) = check_batch(frame, vocabulary=14)
    assert (found.rule, found.positions) == ("vocabulary", ((4, 1),))
    with pytest.raises(SleuthError, match="cannot read data of type"):
        check(None, object())


def test_large_arrays_are_looked_at_in_stretches() -> None:
    ids = np.random.default_rng(0).integers(1, 50, (20_000, 8))
    ids[19_999, 3] = 60
    seen: list[tuple[str, int, int | None]] = []
    (found,) = check_batch(ids, vocabulary=np.int64(50), progress=lambda *told: seen.append(told))
    assert seen[-1] == ("the batch", 20_000, 20_000) and len(seen) > 2
    assert found.positions == ((19_999, 3),) and found.found == "ids up to 60, in 1 of 20,000 rows"
