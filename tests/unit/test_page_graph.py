"""The graph around an op: levels, groups that open, loops, the way of the finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web.answers.graph import walk
from tensorsleuth.ui.web.answers.graph.groups import _digest, plain_name
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun

LOG = "0.20"
TRAIN, LOOP, HIDDEN = "f0.1", "f0.2", f"l0.1.{_digest('net/hidden')}"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    folder = tmp_path_factory.mktemp("runs")
    return OpenRun(little_run.write(folder / "little", folder / "train.py"))


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    """A thousand ops, each of which takes what the one before made."""
    return OpenRun(synthetic.write(tmp_path_factory.mktemp("runs") / "chain", 2000, 0))


def labels(graph: dict[str, Any]) -> dict[str, str]:
    return {node["id"]: node["label"] for node in graph["nodes"]}


def edges(graph: dict[str, Any]) -> set[tuple[str, str]]:
    names = labels(graph)
    return {(names[edge["from"]], names[edge["to"]]) for edge in graph["edges"]}


def test_inputs_above_and_consumers_below(opened: OpenRun) -> None:
    graph = ask(opened, "graph", id=LOG, up=1, down=1)
    assert graph["focus"] == "0.4" and graph["more"] == 0
    assert edges(graph) == {("hidden", "Log"), ("Log", "Mean")}
    nodes = {node["label"]: node for node in graph["nodes"]}
    assert (nodes["Log"]["tensor"], nodes["Mean"]["tensor"], nodes["hidden"]["tensor"]) == (LOG, "0.21", "0.19")
    assert nodes["Mean"]["down"] and not nodes["Log"]["down"] and not nodes["Log"]["up"]
    assert nodes["hidden"]["down"], "the gradient takes it too"
    assert [edge["bad"] for edge in graph["edges"]] == [False, True]


def test_the_way_of_the_finding(opened: OpenRun) -> None:
    nodes = {node["label"]: node["onPath"] for node in ask(opened, "graph", id=LOG)["nodes"]}
    assert nodes == {"hidden": None, "Log": "origin", "Mean": "path", "add": "symptom"}
    at_another_step = {node["label"]: node for node in ask(opened, "graph", id="0.2")["nodes"]}
    assert at_another_step["Log"]["onPath"] == "origin" and not at_another_step["Log"]["bad"]
    assert not any(node["onPath"] for node in ask(opened, "graph", id=LOG, finding=5)["nodes"])


def test_groups_open_and_close(opened: OpenRun) -> None:
    groups = {group["id"]: group for group in ask(opened, "graph", id=LOG)["groups"]}
    assert groups[TRAIN] | {"bad": True} == groups[TRAIN]
    assert (groups[TRAIN]["name"], groups[TRAIN]["kind"], groups[TRAIN]["size"]) == ("train_step", "function", 7)
    assert (groups[LOOP]["name"], groups[LOOP]["kind"], groups[LOOP]["parent"]) == ("while", "loop", TRAIN)
    assert (groups[HIDDEN]["kind"], groups[HIDDEN]["open"], groups[HIDDEN]["size"]) == ("layer", False, 2)
    wide = ask(opened, "graph", id=LOG, open=HIDDEN)
    assert {("mul", "Softmax"), ("Softmax", "Log")} <= edges(wide) and HIDDEN not in labels(wide)
    shut = ask(opened, "graph", id=LOG, close=TRAIN)
    assert labels(shut) == {TRAIN: "train_step"} and shut["focus"] == TRAIN and shut["edges"] == []
    assert shut["nodes"][0]["bad"] and shut["nodes"][0]["onPath"] == "origin"


def test_a_loop_goes_back_to_itself(opened: OpenRun) -> None:
    graph = ask(opened, "graph", id="0.24")
    assert [(edge["from"], edge["to"], edge["back"]) for edge in graph["edges"]] == [("0.9", "0.9", True)]
    first = ask(opened, "graph", id="0.23", up=1, down=0)
    assert ("Mean", "add") in edges(first)
    assert {(edge["from"], edge["back"]) for edge in first["edges"]} == {("0.5", False), ("0.9", True)}


def test_around_an_op_at_the_moment_of_a_tensor(opened: OpenRun) -> None:
    graph = ask(opened, "graph", id="0.29", op="0.3", up=1, down=0, open=HIDDEN)
    assert graph["focus"] == "0.3" and {node["tensor"] for node in graph["nodes"]} == {"0.28", "0.27"}
    unseen = ask(opened, "graph", id=LOG, op="0.7", up=1, down=0)  # the While itself has no row
    assert unseen["focus"] == "0.7" and [node["seen"] for node in unseen["nodes"]][:1] == [False]
    with pytest.raises(NotFound):
        ask(opened, "graph", id=LOG, op="0.999")


def test_levels(chain: OpenRun) -> None:
    everything = ",".join(f"l0.1.{_digest(f'layer_{number}')}" for number in range(100))
    graph = ask(chain, "graph", id="0.1500", up=3, down=2, open=everything)
    assert len(graph["nodes"]) == 6 and len(graph["edges"]) == 5 and graph["more"] == 0
    ends = [(node["up"], node["down"]) for node in graph["nodes"]]
    assert ends.count((True, False)) == 1 and ends.count((False, True)) == 1


def test_no_more_nodes_than_can_be_seen(chain: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_NODES", 5)
    everything = ",".join(f"l0.1.{_digest(f'layer_{number}')}" for number in range(100))
    graph = ask(chain, "graph", id="0.1500", up=8, down=8, open=everything)
    assert len(graph["nodes"]) == 5 and graph["more"] > 0


def test_a_closed_layer_is_passed_at_no_cost(chain: OpenRun) -> None:
    graph = ask(chain, "graph", id="0.1505", up=1, down=0)  # layer_50 has the ops 500 to 509
    assert "layer_49" not in labels(graph).values()
    graph = ask(chain, "graph", id="0.1500", up=2, down=0)
    assert [label for label in labels(graph).values() if label.startswith("layer")] == ["layer_49", "layer_48"]


@pytest.mark.parametrize(
    ("traced", "name"),
    [
        ("__inference_train_step_1234", "train_step"),
        ("__forward_cross_entropy_260", "cross_entropy"),
        ("__inference___backward_cross_entropy_233_261", "gradient of cross_entropy"),
        ("my_function", "my_function"),
    ],
)
def test_functions_are_called_as_the_program_does(traced: str, name: str) -> None:
    assert plain_name(traced) == name


def test_the_largest_answer_is_small(chain: OpenRun, tmp_path: Path) -> None:
    graph = ask(chain, "graph", id="0.1500", up=99, down=99, close="none")
    assert len(graph["nodes"]) <= walk.MAX_NODES
