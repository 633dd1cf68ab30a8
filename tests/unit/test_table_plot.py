"""`plot` of what `activations` and `gradients` return, by matplotlib itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.watch.table import TensorStatsTable, row_of

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
LAYERS = {"embed": [3.0, 4.0], "dense": [0.0, 0.0], "dense_1": [6.0, 8.0]}


@pytest.fixture
def axes() -> Any:
    """Closes what is drawn; nothing is shown."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield lambda table, *column: table.plot(*column)
    pyplot.close("all")


def table(layers: dict[str, list[float]] | None = None) -> TensorStatsTable:
    lines = [row_of(name, np.array(value, np.float32), "Relu") for name, value in (layers or LAYERS).items()]
    return TensorStatsTable(f"{len(lines)} layers of net", lines)


@pytest.mark.parametrize(
    ("column", "lengths"), [((), [5.0, 0.0, 10.0]), (("mean",), [3.5, 0.0, 7.0]), (("zero",), [0.0, 1.0, 0.0])]
)
def test_a_bar_for_each_line(axes: Any, column: tuple[str, ...], lengths: list[float]) -> None:
    drawn = axes(table(), *column)
    assert [bar.get_width() for bar in drawn.patches] == lengths
    assert [label.get_text() for label in drawn.get_yticklabels()] == list(LAYERS)
    assert drawn.get_title() == "3 layers of net" and drawn.get_xlabel() == (column[0] if column else "norm")
    assert drawn.yaxis_inverted()  # the first layer is at the top


def test_long_names_are_not_cut_off(axes: Any) -> None:
    drawn = axes(table({f"net/encoder/layer_{number}/attention/output": [1.0, 2.0] for number in range(3)}))
    drawn.figure.canvas.draw()
    assert min(label.get_window_extent().x0 for label in drawn.get_yticklabels()) >= 0
    assert drawn.xaxis.label.get_window_extent().y0 >= 0


def test_lines_of_the_same_name_have_a_bar_each(axes: Any) -> None:
    twice = table()
    drawn = axes(TensorStatsTable("twice", [*twice, *twice]))
    places = [bar.get_y() for bar in drawn.patches]
    assert len(set(places)) == 6 and len(drawn.get_yticklabels()) == 6


def test_what_is_not_finite_has_no_bar(axes: Any) -> None:
    drawn = axes(table({"good": [3.0, 4.0], "bad": [float("nan"), float("nan")]}), "mean")
    drawn.figure.canvas.draw()  # with a bar of no length
    assert drawn.patches[0].get_width() == 3.5 and not drawn.patches[1].get_width() > 0


def test_a_column_without_numbers() -> None:
    with pytest.raises(SleuthError, match=r"plot\('shape'\): no such column of numbers; use one of mean"):
        table().plot("shape")
