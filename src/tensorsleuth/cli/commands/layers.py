"""`sleuth layers`: outputs of layers, gradients, and updates of weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output.closing import print_hints
from tensorsleuth.cli.output.command_text import sleuth_command
from tensorsleuth.cli.output.findings import findings_of, why_hint
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console as terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tensorsleuth.analyze.layers.curves import LayerCurve
    from tensorsleuth.trace.reader import Trace
    from tensorsleuth.trace.series.layer_stats import LayerStatistics
    from tensorsleuth.trace.series.watched import WatchedSeries

OTHER_VIEWS = {"gradient": "how gradients flow back", "update": "how far weights move"}
NO_OUTPUTS = " No layer output was recorded. The ops belong to no layer, or ran eagerly."
ChosenSeries = dict[str, "list[WatchedSeries]"]


@click.command()
@click.argument("run", required=False)
@click.option("--gradients", is_flag=True, help="Show gradients, from the last layer to the first.")
@click.option("--updates", is_flag=True, help="Show how far each step moves the weights.")
@click.option("--layer", metavar="REGEX", help="Only layers and variables whose name or scopes match.")
@click.option("--step", type=int, metavar="N", help="The sample nearest to this training step.  [default: the last]")
@common.logdir
@common.as_json
def command(
    run: str | None, gradients: bool, updates: bool, layer: str | None, step: int | None, logdir: Path, as_json: bool
) -> None:
    """Show what happens in the layers of a model over the steps.

    For the output of each layer: shape, mean, standard deviation, norm, zeros, dead units, saturation, and the growth
    from block to block. With --gradients: the norms of gradients, from the last layer to the first. With --updates:
    how far each step moves the weights. RUN is a name, the start of a name, or a path; by default the latest run.

    \b
    sleuth layers
    sleuth layers --layer block_1
    sleuth layers --gradients --step 100
    sleuth layers --updates 20251115-2215
    sleuth layers --json
    """
    from tensorsleuth.analyze.layers import curves as insight
    from tensorsleuth.analyze.layers.to_json import layers_to_json
    from tensorsleuth.trace.reader import open_trace

    path = run_folder.find(logdir, run)
    trace = open_trace(path)
    inside = trace.inside()
    chosen = _chosen(trace, inside, layer)
    flow = [one for one in insight.gradient_flow(inside) if _is_chosen(one, chosen["gradient"])]
    grown = insight.residual_growth(chosen["output"], step)
    if as_json:
        terminal.print_json(layers_to_json(chosen["output"], grown, chosen["gradient"], flow, chosen["update"]))
        return
    from rich.text import Text

    from tensorsleuth.analyze.layers.no_stats import unrecorded_functions
    from tensorsleuth.ui.terminal.verdict import more_findings, unseen_functions

    findings = findings_of(trace)
    asked = gradients or updates
    gradients = gradients or not (updates or chosen["output"])
    parts = {"output": not (gradients or updates), "gradient": gradients, "update": updates}
    without = [Text(NO_OUTPUTS, "dim"), Text()] if not (asked or inside.layers) else []
    _show(
        chosen, flow, parts, step, [*more_findings(findings), *unseen_functions(unrecorded_functions(trace)), *without]
    )
    others = {kind: text for kind, text in OTHER_VIEWS.items() if chosen[kind] and not parts[kind]}
    hints = {sleuth_command(f"layers --{kind}s", path): text for kind, text in others.items()}
    print_hints(hints | why_hint(trace, findings))


def _is_chosen(flowing: LayerCurve, gradients: list[WatchedSeries]) -> bool:
    return any((one.name.rpartition("/")[0] or one.name) == flowing.name for one in gradients)


def _chosen(trace: Trace, layer_statistics: LayerStatistics, layer: str | None) -> ChosenSeries:
    from tensorsleuth.analyze.layers.no_stats import explain_missing_stats
    from tensorsleuth.trace.series.watched import name_matcher

    is_named = name_matcher(layer)
    seen = {kind: layer_statistics.of(kind) for kind in ("output", "gradient", "update")}
    if not any(seen.values()):
        raise SleuthError(explain_missing_stats(trace, layer_statistics, "layers"))
    found = {kind: [one for one in series if is_named(one.name)] for kind, series in seen.items()}
    if not any(found.values()):
        raise SleuthError(
            f"--layer {layer}: no layer or variable has that name. List them: {sleuth_command('layers', trace.path)}"
        )
    return found


def _show(
    chosen_series: ChosenSeries,
    flow: list[LayerCurve],
    parts: dict[str, bool],
    step: int | None,
    more: list[RenderableType],
) -> None:
    from rich.console import Group
    from rich.text import Text

    from tensorsleuth.analyze.layers.curves import layer_output, ratio_curve, residual_growth
    from tensorsleuth.ui.terminal import layers_report as report

    width, shown = terminal.width(), list[Text]()
    outputs = [layer_output(one, step) for one in chosen_series["output"]]
    if parts["output"] and outputs:
        shown += [report.outputs_table(outputs, width), Text()]
        grown = residual_growth(chosen_series["output"], step)
        shown += [report.growth_table(grown, width), Text()] if grown else []
    if parts["gradient"] and flow:
        shown += [report.gradients_table(flow, step, width), Text()]
    if parts["update"] and chosen_series["update"]:
        shown += [report.updates_table([ratio_curve(one) for one in chosen_series["update"]], step, width), Text()]
    head = report.headline(outputs, len(chosen_series["gradient"]), len(chosen_series["update"]))
    terminal.show(Group(head, Text(), *more, *(shown[:-1] or [Text(" None of these were recorded.", "dim")])))
