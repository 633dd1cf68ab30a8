"""`sleuth layers`: what leaves each layer, how gradients flow back, how far weights move."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output.closing import hint_at
from tensorsleuth.cli.output.command_text import typed
from tensorsleuth.cli.output.findings import findings_of, why_more
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console as terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tensorsleuth.analyze.layers.curves import Curve
    from tensorsleuth.trace.reader import Trace
    from tensorsleuth.trace.series.layer_stats import Inside
    from tensorsleuth.trace.series.watched import WatchedSeries

OTHERS = {"gradient": "how gradients flow back", "update": "how far weights move"}
NONE = " No output of a layer was seen: ops were in no layer, or ran eagerly."
Chosen = dict[str, "list[WatchedSeries]"]


@click.command()
@click.argument("run", required=False)
@click.option("--gradients", is_flag=True, help="How gradients flow, from the last layer to the first.")
@click.option("--updates", is_flag=True, help="How far each step moves the weights.")
@click.option("--layer", metavar="REGEX", help="Only layers and variables whose name, or scopes of it, match.")
@click.option("--step", type=int, metavar="N", help="The sample nearest to this training step.  [default: the last]")
@common.logdir
@common.as_json
def command(
    run: str | None, gradients: bool, updates: bool, layer: str | None, step: int | None, logdir: Path, as_json: bool
) -> None:
    """Tell what happens in the layers of a model, over the steps.

    What leaves each layer: shape, mean, standard deviation, norm, zeros, dead units, saturation; how it grows from
    block to block. With --gradients their norms, from the last layer to the first; with --updates how far each
    step moves the weights. RUN is a name, the start of one, or a path; the latest when left out.

    \b
    sleuth layers
    sleuth layers --layer block_1
    sleuth layers --gradients --step 100
    sleuth layers --updates 20251115-2215
    sleuth layers --json
    """
    from tensorsleuth.analyze.layers import curves as insight
    from tensorsleuth.analyze.layers.to_json import layers_told
    from tensorsleuth.trace.reader import open_trace

    path = run_folder.find(logdir, run)
    trace = open_trace(path)
    inside = trace.inside()
    chosen = _chosen(trace, inside, layer)
    flow = [one for one in insight.flow(inside) if _is_chosen(one, chosen["gradient"])]
    grown = insight.growth(chosen["output"], step)
    if as_json:
        terminal.data(layers_told(chosen["output"], grown, chosen["gradient"], flow, chosen["update"]))
        return
    from rich.text import Text

    from tensorsleuth.analyze.layers.no_stats import not_looked_into
    from tensorsleuth.ui.terminal.verdict import elsewhere, unseen

    findings = findings_of(trace)
    asked = gradients or updates
    gradients = gradients or not (updates or chosen["output"])
    parts = {"output": not (gradients or updates), "gradient": gradients, "update": updates}
    without = [Text(NONE, "dim"), Text()] if not (asked or inside.layers) else []
    _show(chosen, flow, parts, step, [*elsewhere(findings), *unseen(not_looked_into(trace)), *without])
    others = {kind: text for kind, text in OTHERS.items() if chosen[kind] and not parts[kind]}
    hints = {typed(f"layers --{kind}s", path): text for kind, text in others.items()}
    hint_at(hints | why_more(trace, findings))


def _is_chosen(flowing: Curve, gradients: list[WatchedSeries]) -> bool:
    return any((one.name.rpartition("/")[0] or one.name) == flowing.name for one in gradients)


def _chosen(trace: Trace, inside: Inside, layer: str | None) -> Chosen:
    from tensorsleuth.analyze.layers.no_stats import why_nothing
    from tensorsleuth.trace.series.watched import named

    is_named = named(layer)
    seen = {kind: inside.of(kind) for kind in ("output", "gradient", "update")}
    if not any(seen.values()):
        raise SleuthError(why_nothing(trace, inside, "layers"))
    found = {kind: [one for one in series if is_named(one.name)] for kind, series in seen.items()}
    if not any(found.values()):
        raise SleuthError(
            f"--layer {layer}: no layer or variable has that name. All of them: {typed('layers', trace.path)}"
        )
    return found


def _show(
    chosen: Chosen, flow: list[Curve], parts: dict[str, bool], step: int | None, more: list[RenderableType]
) -> None:
    from rich.console import Group
    from rich.text import Text

    from tensorsleuth.analyze.layers.curves import growth, output, ratio_curve
    from tensorsleuth.ui.terminal import layers_report as report

    width, shown = terminal.width(), list[Text]()
    outputs = [output(one, step) for one in chosen["output"]]
    if parts["output"] and outputs:
        shown += [report.leaving(outputs, width), Text()]
        grown = growth(chosen["output"], step)
        shown += [report.grown(grown, width), Text()] if grown else []
    if parts["gradient"] and flow:
        shown += [report.flowing(flow, step, width), Text()]
    if parts["update"] and chosen["update"]:
        shown += [report.moving([ratio_curve(one) for one in chosen["update"]], step, width), Text()]
    head = report.headline(outputs, len(chosen["gradient"]), len(chosen["update"]))
    terminal.show(Group(head, Text(), *more, *(shown[:-1] or [Text(" None of that was seen.", "dim")])))
