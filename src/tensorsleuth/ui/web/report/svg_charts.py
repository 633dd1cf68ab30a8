"""Charts as SVG: curves over steps, and bad tensors over time. The style sheet gives the classes their colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.web.report.scales import AxisScale, make_scale, tick_label

WIDTH, HEIGHT = 760, 200
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 30
LANE_HEIGHT = 26

Numbers = Sequence[float | None]


def curve_chart(
    x: Numbers, y: Numbers, label: str, axis: str, bad: Sequence[bool] = (), band: tuple[Numbers, Numbers] | None = None
) -> str:
    """Return a line through y over x, interrupted where a number is missing, with red marks at the bottom if `bad`."""
    places = make_scale([x], LEFT, WIDTH - RIGHT)
    heights = make_scale([y, *(band or ())], HEIGHT - BOTTOM, TOP)
    parts = [*_axes(places, heights, axis)]
    if band:
        parts += _band(x, *band, places, heights)
    parts += _line(x, y, places, heights)
    parts += _marks([at for at, is_bad in zip(x, bad) if is_bad and at is not None], places)
    return _picture(parts, HEIGHT, label)


class ChartLane(NamedTuple):
    """The tensors computed in each span of time, and the bad ones among them."""

    name: str
    counts: Sequence[int]
    bad: Sequence[int]


def lanes_chart(shown: Sequence[ChartLane], span: tuple[float, float]) -> str:
    """Return a chart of the tensors computed over time, a lane each, red where they were bad."""
    height = TOP + LANE_HEIGHT * len(shown) + BOTTOM
    places = AxisScale(*span, LEFT + 60, WIDTH - RIGHT)
    parts = [*_x_axis(places, height, "seconds")]
    for at, lane in enumerate(shown):
        base = TOP + LANE_HEIGHT * (at + 1)
        parts.append(f'<text class="name" x="{LEFT + 52}" y="{base - 7}">{escape_text(lane.name[-16:])}</text>')
        parts += _bars(lane.counts, places, base, "bar")
        parts += _bars(lane.bad, places, base, "bar bad")
    return _picture(parts, height, "tensors over time")


def escape_text(words: str) -> str:
    """Return text of a trace, made harmless for HTML and for the eye."""
    return escape(printable(words))


def _picture(parts: Sequence[str], height: float, label: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape_text(label)}"'
    return f'<svg {size} xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'


def _axes(places: AxisScale, heights: AxisScale, axis: str) -> Iterator[str]:
    for tick in heights.ticks():
        y = heights(tick)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4}">{tick_label(tick)}</text>'
    yield from _x_axis(places, HEIGHT, axis)


def _x_axis(places: AxisScale, height: float, axis: str) -> Iterator[str]:
    base = height - BOTTOM
    yield f'<line class="axis" x1="{places.begin}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>'
    for tick in places.ticks(6):
        yield f'<text class="tick below" x="{places(tick)}" y="{base + 15}">{tick_label(tick)}</text>'
    yield f'<text class="tick" x="{WIDTH - RIGHT}" y="{height - 2}">{escape_text(axis)}</text>'


def _line(x: Numbers, y: Numbers, places: AxisScale, heights: AxisScale) -> Iterator[str]:
    for points in _stretches(x, y):
        drawn = " ".join(f"{places(at)},{heights(value)}" for at, value in points)
        if len(points) > 1:
            yield f'<polyline class="line" points="{drawn}"/>'
        else:
            yield f'<circle class="dot" cx="{places(points[0][0])}" cy="{heights(points[0][1])}" r="2"/>'


def _band(x: Numbers, low: Numbers, high: Numbers, places: AxisScale, heights: AxisScale) -> Iterator[str]:
    for lower, upper in zip(_stretches(x, low), _stretches(x, high)):
        around = [*lower, *reversed(upper)]
        yield f'<polygon class="band" points="{" ".join(f"{places(at)},{heights(value)}" for at, value in around)}"/>'


def _stretches(x: Numbers, y: Numbers) -> Iterator[list[tuple[float, float]]]:
    """Return the points between two gaps."""
    pairs = list(zip(x, y))
    for known, points in groupby(pairs, key=lambda pair: pair[0] is not None and pair[1] is not None):
        if known:
            yield [(float(at or 0), float(value or 0)) for at, value in points]


def _marks(bad: Sequence[float], places: AxisScale) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    for place in sorted({round(places(at), 1) for at in bad}):
        yield f'<line class="mark" x1="{place}" x2="{place}" y1="{base - 6}" y2="{base}"/>'


def _bars(counts: Sequence[int], places: AxisScale, base: float, kind: str) -> Iterator[str]:
    """Return a bar for each bin. Even the smallest bar is visible."""
    most = max(counts, default=0)
    width = (places.end - places.begin) / max(1, len(counts))
    for at, count in enumerate(counts):
        if count:
            high = round(4 + (LANE_HEIGHT - 9) * count / most, 1)
            place = round(places.begin + at * width, 2)
            yield f'<rect class="{kind}" x="{place}" y="{base - high}" width="{max(width, 1.5):.2f}" height="{high}"/>'
