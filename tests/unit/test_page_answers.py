"""What the page is told of a run that is known in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.ui.web.run.errors import BadRequest, NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun

LOG = "0.20"  # the first bad value: the third op of step 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def opened(folder: Path) -> OpenRun:
    return OpenRun(little_run.write(folder / "little", folder / "train.py", values=True))


def ids(answer: dict[str, Any]) -> list[str]:
    return [row["id"] for row in answer["items"]]


# ---- the run and its verdict


def test_a_run(opened: OpenRun, folder: Path) -> None:
    run = ask(opened, "")
    assert run["program"] == "train.py" and run["command"] == f"{folder / 'train.py'} --fast"
    assert (run["started"], run["seconds"], run["status"], run["ending"]) == (1.7e9, 2.5, "finished", "exit 0")
    assert (run["steps"], run["firstStep"], run["lastStep"], run["tensors"], run["bad"]) == (4, 0, 3, 36, 10)
    assert run["mode"] == "FULL_TENSOR" and all(run["records"].values()) and run["tensorflow"] == "2.21"
    assert run["layers"] == ["net/hidden"] and "Log" in run["opTypes"] and "Argument" not in run["opTypes"]
    path = str(folder / "train.py")
    assert run["files"] == [{"number": 0, "path": path, "name": "train.py", "lines": 12, "user": True}]
    assert run["notCovered"] == [{"what": "tf.py_function", "why": "Python runs it", "site": f"{path}:9"}]
    assert run["processes"] == [{"number": 0, "name": "process 77", "pid": 77, "device": "/device:CPU:0"}]
    assert run["trouble"] == [] and run["cursor"] == 1 and not run["live"]


def test_the_verdict_knows_its_tensors(opened: OpenRun) -> None:
    verdict = ask(opened, "verdict")
    (finding,) = verdict["findings"]
    assert (verdict["verdict"], finding["cause"], finding["tensor"]) == ("problem", "cross-entropy-by-hand", LOG)
    assert finding["counted"] is None
    assert finding["place"]["line"] == 8 and finding["place"]["code"] == "likely = tf.math.log(scores)"
    assert [(piece["role"], piece["tensor"]) for piece in finding["evidence"]] == [("in", "0.19"), ("out", LOG)]
    assert [hop["tensor"] for hop in finding["chain"]] == [LOG, "0.21", "0.23", "0.24", None]
    assert not {"source", "call", "process", "hops", "path"} & set(finding)


# ---- lists


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"op": "Log"}, ["0.2", "0.11", "0.20", "0.29"]),
        ({"op": "Lo"}, []),
        ({"name": "SOFT", "from": 1, "to": 2}, ["0.10", "0.19"]),
        ({"name": "^Log:0", "to": 0}, ["0.2"]),
        ({"name": "Log:1"}, []),
        ({"name": "Log["}, []),
        ({"layer": "hid", "from": 3}, ["0.27", "0.28"]),
        ({"health": "bad", "from": 3, "graph": "__inference_train_step_12"}, ["0.29", "0.30"]),
        ({"health": "nan"}, []),
        ({"health": "inf", "op": "Mean"}, ["0.21", "0.30"]),
        ({"health": "zero"}, ["0.19", "0.28"]),
        ({"health": "healthy", "op": "Log"}, ["0.2", "0.11"]),
        ({"file": 0, "line": 9}, ["0.3", "0.12", "0.21", "0.30"]),
        ({"eager": "true"}, ["0.8", "0.17", "0.26", "0.35"]),
        ({"eager": "false", "op": "AddV2", "to": 0}, ["0.5", "0.6", "0.7"]),
        ({"op": "Mul", "descending": "true"}, ["0.27", "0.18", "0.9", "0.0"]),
        ({"op": "Mul", "sort": "max", "descending": "true"}, ["0.27", "0.18", "0.9", "0.0"]),
        ({"op": "Mean", "sort": "min"}, ["0.12", "0.3", "0.21", "0.30"]),  # unknown values come last
        ({"op": "Mean", "sort": "min", "descending": "true"}, ["0.3", "0.12", "0.21", "0.30"]),
        ({"to": 0, "sort": "name", "eager": "false", "end": 3}, ["0.2", "0.3", "0.5"]),
        ({"op": "Log", "sort": "inf", "descending": "true"}, ["0.20", "0.29", "0.2", "0.11"]),
        ({"op": "Log", "sort": "step", "descending": "true"}, ["0.29", "0.20", "0.11", "0.2"]),
    ],
)
def test_tensors_by(opened: OpenRun, filters: dict[str, object], expected: list[str]) -> None:
    answer = ask(opened, "tensors", **{f"{name}_": value for name, value in filters.items()})
    assert ids(answer) == expected
    assert answer["total"] == len(expected) or "end" in filters


def test_a_page_of_tensors(opened: OpenRun) -> None:
    answer = ask(opened, "tensors", begin=30, end=500)
    assert (answer["begin"], answer["end"], answer["total"], len(answer["items"])) == (30, 36, 36, 6)
    assert ask(opened, "tensors", begin=90)["items"] == []


def test_where_a_tensor_stands(opened: OpenRun) -> None:
    assert ask(opened, "tensors/at", id=LOG, health="bad") == {"index": 0}
    assert ask(opened, "tensors/at", id="0.29", op="Log", sort="step", descending="true") == {"index": 0}
    assert ask(opened, "tensors/at", id="0.0", health="bad") == {"index": -1}


def test_a_row(opened: OpenRun) -> None:
    row = ask(opened, "tensors", begin=20, end=21)["items"][0]
    assert (row["id"], row["op"], row["type"], row["name"]) == (LOG, "0.4", "Log", "Log:0")
    assert (row["graph"], row["step"], row["iteration"]) == ("__inference_train_step_12", 2, 0)
    assert (row["dtype"], row["shape"], row["elements"], row["kept"]) == ("float32", [2, 3], 6, False)
    health = {"bad": True, "nan": 0, "negInf": 2, "posInf": 0, "neg": 4, "zero": 0, "pos": 0, "firstBad": 4}
    assert row["health"] == health | {"min": -1.5, "max": -0.25, "mean": -0.875, "std": 0.5}
    assert row["lane"] == "0.d1" and row["time"] == pytest.approx(0.021002) and not row["gradient"]


def test_alerts_and_the_way_between_them(opened: OpenRun) -> None:
    alerts = ask(opened, "alerts", end=2)
    assert alerts["counts"] == [{"kind": "neg_inf", "count": 10, "first": LOG}]
    assert ids(alerts) == [LOG, "0.21"] and alerts["total"] == 10
    assert ask(opened, "alerts", kind="nan")["total"] == 0
    assert ask(opened, "next") == {"id": LOG} and ask(opened, "next", direction="previous") == {"id": "0.34"}
    assert ask(opened, "next", id=LOG) == {"id": "0.21"} and ask(opened, "next", id="0.34") == {"id": None}
    assert ask(opened, "next", id="0.29", direction="previous", kind="neg_inf") == {"id": "0.25"}


# ---- one tensor


def test_one_tensor(opened: OpenRun) -> None:
    log = ask(opened, f"tensors/{LOG}")
    (softmax,), (mean,) = log["inputs"], log["consumers"]
    assert (softmax["id"], softmax["op"], softmax["bad"], softmax["words"]) == (
        "0.19",
        "0.3",
        False,
        "2 zeros of 6, range 0 … 0.75",
    )
    assert (mean["id"], mean["name"], mean["bad"], mean["place"]["line"]) == ("0.21", "Mean:0", True, 9)
    assert [(frame["line"], frame["user"]) for frame in log["stack"]] == [(20, True), (8, True), (9, False)]
    assert log["words"] == "2 −∞ of 6 (first at row 1, column 1), finite range -1.5 … -0.25" and log["forward"] is None


def test_a_gradient_has_its_forward_op(opened: OpenRun) -> None:
    gradient = ask(opened, "tensors/0.22")
    assert gradient["gradient"] and (gradient["forward"]["op"], gradient["forward"]["name"]) == ("Log", "Log")
    assert gradient["forward"]["place"]["line"] == 8


def test_history(opened: OpenRun) -> None:
    history = ask(opened, "tensors/0.2/history")
    assert history["steps"] == [0, 1, 2, 3] and history["ids"] == ["0.2", "0.11", "0.20", "0.29"]
    assert history["inf"] == [0, 0, 2, 2] and history["nan"] == [0] * 4 and history["min"] == [-1.5] * 4
    loop = ask(opened, "tensors/0.5/history", points=2)
    assert (loop["total"], loop["steps"], loop["ids"]) == (
        12,
        [1, 3],
        ["0.5", "0.23"],
    )  # the first bad one is the worst
    assert loop["elements"] == [6, 6] and loop["inf"] == [0, 6] and loop["max"] == [-1.0, None]


# ---- values


def test_a_value(opened: OpenRun) -> None:
    value = ask(opened, "tensors/0.1/value")
    assert value["items"] == [0.25, 0.5, None, None, 0.75, -1.0] and value["texts"] == {"2": "NaN", "3": "Infinity"}
    assert value["shape"] == value["of"] == [2, 3] and value["total"] == 6
    heat = value["heat"]
    assert (heat["rows"], heat["columns"], heat["bad"], heat["low"], heat["high"]) == (2, 3, "..n+..", -1.0, 0.75)
    assert heat["cells"] == [0.25, 0.5, None, None, 0.75, -1.0]
    assert sum(value["histogram"]["counts"]) == 4 and value["histogram"]["edges"][0] == -1.0


def test_a_slice_of_a_value(opened: OpenRun) -> None:
    value = ask(opened, "tensors/0.1/value", slice="[:, 1]", begin=1, end=2)
    assert (value["shape"], value["of"], value["items"], value["heat"]) == ([2], [2, 3], [0.75], None)
    assert (value["begin"], value["end"], value["total"], value["texts"]) == (1, 2, 2, {})


@pytest.mark.parametrize("slice", ["[7]", "[0,0,0]", "nonsense", "[__import__('os')]", "[0:1:0]", "[1.5]", "[" * 200])
def test_a_slice_that_makes_no_sense(opened: OpenRun, slice: str) -> None:
    with pytest.raises(BadRequest):
        ask(opened, "tensors/0.1/value", slice=slice)


def test_a_value_that_was_not_kept(opened: OpenRun) -> None:
    with pytest.raises(NotFound, match="FULL_TENSOR"):
        ask(opened, "tensors/0.0/value")


# ---- over time


def test_the_timeline(opened: OpenRun) -> None:
    told = ask(opened, "timeline", bins=4)
    device, thread = told["lanes"]
    assert (device["id"], device["name"], device["kind"]) == ("0.d1", "CPU:0", "device")
    assert device["count"] == [8, 8, 8, 8] and device["bad"] == [0, 0, 5, 5]
    assert device["first"] == ["0.0", "0.9", "0.20", "0.29"]  # bad ones first
    assert (thread["name"], thread["kind"], thread["count"]) == ("thread 1", "thread", [1, 1, 1, 1])
    assert [(step["step"], step["bad"], step["name"]) for step in told["steps"]] == [
        (0, False, "step 0"), (1, False, "step 1"), (2, True, "step 2"), (3, True, "step 3"),
    ]  # fmt: skip
    assert told["steps"][1]["from"] == pytest.approx(0.01) and told["steps"][1]["to"] == pytest.approx(0.015)
    assert (told["begin"], told["end"], told["stepBins"]) == (0.0, pytest.approx(0.035), None)


def test_a_stretch_of_the_timeline(opened: OpenRun) -> None:
    told = ask(opened, "timeline", from_=0.0205, to=0.0215, bins=10)
    assert sum(told["lanes"][0]["count"]) == 8 and [step["step"] for step in told["steps"]] == [2]
    binned = ask(opened, "timeline", bins=2)
    assert binned["steps"] == [] and binned["stepBins"] == {"first": [0, 2], "last": [1, 3], "bad": [False, True]}


def test_scalars(opened: OpenRun) -> None:
    loss, loop = ask(opened, "scalars")["items"]
    assert loss == {"op": "0.5", "name": "Mean", "label": "loss", "count": 4} and loop["count"] == 12
    points = ask(opened, "scalars/0.5")
    assert points["value"] == [-0.5, -1.5, None, None] and points["step"] == [0, 1, 2, 3]
    assert points["ids"] == ["0.3", "0.12", "0.21", "0.30"] and points["low"] == points["high"] == points["value"]
    assert ask(opened, "scalars/0.5", points=2)["low"] == [-1.5, None]
    assert ask(opened, "scalars/0.5", from_=0.02, to=0.03)["step"] == [1, 2, 3]  # one more at either end


# ---- what makes no sense


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("tensors/x", {}), ("tensors/1", {}), ("tensors/-1.0", {}), ("tensors/0.1.2", {}), ("tensors", {"begin": "x"}),
        ("tensors", {"sort": "colour"}), ("tensors", {"health": "ill"}), ("tensors", {"eager": "perhaps"}),
        ("tensors", {"from_": "1e3"}), ("tensors", {"name": "x" * 600}), ("next", {"direction": "up"}),
        ("alerts", {"kind": "odd"}), ("timeline", {"from_": "nan"}), ("timeline", {"to": "1e999"}), ("sources/x", {}),
        ("sources/..", {}), ("tensors/at", {}), ("graph", {}), ("compare", {}), ("tensors", {"file": "train.py"}),
    ],
)  # fmt: skip
def test_bad_questions(opened: OpenRun, path: str, parameters: dict[str, object]) -> None:
    with pytest.raises(BadRequest) as refused:
        ask(opened, path, **parameters)
    assert refused.value.status == 400 and refused.value.what.endswith((".", "?"))


@pytest.mark.parametrize(
    "path", ["tensors/0.36", "tensors/1.0", "tensors/0.99999999", "sources/1", "scalars/0.77", "scalars/x"]
)
def test_what_there_is_not(opened: OpenRun, path: str) -> None:
    with pytest.raises(NotFound) as refused:
        ask(opened, path)
    assert refused.value.status == 404 and refused.value.next
