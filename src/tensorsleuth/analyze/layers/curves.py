"""Layers over the steps: the size of their outputs, the gradients, and how far weights move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

LAYER_NUMBER = re.compile(r"_?\d+")
ADD_LAYER = re.compile(r"(?:^|/)add(?:_\d+)?$")  # Keras's Add layer


@dataclass(frozen=True)
class LayerCurve:
    """A number over the steps."""

    name: str
    steps: Array
    numbers: Array  # NaN if unknown
    bad: Array  # whether the tensor held a NaN or an infinity

    def sample_nearest(self, step: int | None) -> int:
        """Return the sample nearest to a step, by default the last."""
        return len(self.steps) - 1 if step is None else int(np.abs(self.steps - step).argmin())


@dataclass(frozen=True)
class ResidualGrowth:
    """The size of the residual signal after each block."""

    family: str  # the names of the blocks, with # for the numbers
    layers: tuple[str, ...]
    sizes: tuple[float, ...]  # root mean squares

    @property
    def times(self) -> float:
        return self.sizes[-1] / self.sizes[0] if self.sizes[0] > 0 else float("nan")


@dataclass(frozen=True)
class LayerOutputStats:
    """The output of a layer at one sample, and its size at all of them."""

    name: str
    shape: tuple[int, ...]
    mean: float
    std: float
    norm: float
    zeros: float  # as a share
    dead: float  # units of a ReLU that are zero for all samples; NaN for other ops
    units: float
    saturated: float  # lost share of a tanh's or sigmoid's slope; NaN for other ops
    bad: bool  # whether it held a NaN or an infinity
    curve: LayerCurve


def layer_output(series: WatchedSeries, step: int | None = None) -> LayerOutputStats:
    curve = size_curve(series)
    look = curve.sample_nearest(step)
    numbers = float(series.mean[look]), float(series.std[look]), float(series.norm[look]), float(series.zeros[look])
    resting = float(series.dead[look]), float(series.units[look]), float(series.saturated[look])
    return LayerOutputStats(series.name, series.shape(look), *numbers, *resting, bool(curve.bad[look]), curve)


def size_curve(series: WatchedSeries) -> LayerCurve:
    """Return the root mean square of a layer's output, which unlike the norm does not depend on the batch."""
    return LayerCurve(series.name, series.steps, np.hypot(series.mean, series.std), bad_samples(series))


def norm_curve(series: WatchedSeries) -> LayerCurve:
    return LayerCurve(series.name, series.steps, series.norm, bad_samples(series))


def ratio_curve(series: WatchedSeries) -> LayerCurve:
    """Return the ratio of update to weight, unknown for a weight of zero."""
    return LayerCurve(series.name, series.steps, series.ratio, bad_samples(series))


def bad_samples(series: WatchedSeries) -> Array:
    rows = series.rows
    return np.asarray(rows["nan"] + rows["neg_inf"] + rows["pos_inf"] > 0)


def gradient_flow(layer_statistics: LayerStatistics) -> list[LayerCurve]:
    """Return the norm of all gradients of each layer, from the last layer to the first."""
    groups: dict[str, list[WatchedSeries]] = {}
    for series in layer_statistics.gradients:
        groups.setdefault(series.name.rpartition("/")[0] or series.name, []).append(series)
    places = {one.name: place for place, one in enumerate(layer_statistics.layers)}
    order = sorted(groups, key=lambda layer: _place(layer, places), reverse=True)
    return [_summed_curve(layer, groups[layer]) for layer in order]


def _place(layer: str, places: dict[str, int]) -> int:
    """Return a layer's place in the graph, else that of the first layer inside it, else that of the layer around it."""
    if layer in places:
        return places[layer]
    inner = [place for name, place in places.items() if name.startswith(f"{layer}/")]
    above = layer.rpartition("/")[0]
    return min(inner) if inner else _place(above, places) if above else -1


def _summed_curve(layer: str, several: Sequence[WatchedSeries]) -> LayerCurve:
    steps = np.unique(np.concatenate([one.steps for one in several]))
    squares, bad = np.zeros(len(steps)), np.zeros(len(steps), bool)
    for one in several:
        at = np.searchsorted(steps, one.steps)
        np.add.at(squares, at, one.norm**2)
        np.logical_or.at(bad, at, bad_samples(one))
    return LayerCurve(layer, steps, np.sqrt(squares), bad)


def residual_growth(layers: Sequence[WatchedSeries], step: int | None = None) -> list[ResidualGrowth]:
    """Return the growth over similar blocks in graph order: layers with sublayers, and Add layers."""
    names = [one.name for one in layers]
    around = {name for name in names if any(other.startswith(f"{name}/") for other in names)}
    families: dict[str, list[LayerCurve]] = {}
    for one in layers:
        if one.name in around or ADD_LAYER.search(one.name):
            families.setdefault(LAYER_NUMBER.sub("#", _with_number(one.name)), []).append(size_curve(one))
    return [
        ResidualGrowth(
            common_layer_name([one.name for one in curves]), tuple(one.name for one in curves), _sizes(curves, step)
        )
        for curves in families.values()
        if len(curves) > 1
    ]


def _sizes(layer_curves: Sequence[LayerCurve], step: int | None) -> tuple[float, ...]:
    return tuple(float(one.numbers[one.sample_nearest(step)]) for one in layer_curves)


def common_layer_name(names: Sequence[str]) -> str:
    """Replace differing numbers: `gpt2/h_0` and `gpt2/h_1` become `gpt2/h_#`. A number that all share stays."""
    columns = iter(zip(*(LAYER_NUMBER.findall(_with_number(name)) for name in names), strict=True))
    return LAYER_NUMBER.sub(lambda number: number[0] if len(set(next(columns))) == 1 else "_#", _with_number(names[0]))


def _with_number(name: str) -> str:
    """Return a name with a number: Keras gives none to the first of several layers."""
    return f"{name}_0" if ADD_LAYER.search(name) is not None and not name[-1].isdigit() else name
