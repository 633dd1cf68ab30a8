"""`sleuth attention`: which positions the attention heads of a model attend to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output.closing import print_hints
from tensorsleuth.cli.output.command_text import sleuth_command
from tensorsleuth.cli.output.findings import findings_of, why_hint
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

if TYPE_CHECKING:
    from tensorsleuth.analyze.attention.picture import Picture
    from tensorsleuth.trace.reader import Trace
    from tensorsleuth.trace.series.attention import AttentionSeries
    from tensorsleuth.trace.series.layer_stats import LayerStatistics

MAX_PICTURES = 8


@click.command()
@click.argument("run", required=False)
@click.option("--layer", metavar="REGEX", help="Only attention layers whose name or scopes match.")
@click.option("--head", type=click.IntRange(0), metavar="N", help="Only this head, with its heat map.")
@click.option("--sample", type=click.IntRange(0), metavar="N", help="Heat maps of this sample.  [default: 0]")
@click.option("--step", type=int, metavar="N", help="The sample nearest to this training step.  [default: the last]")
@click.option(
    "--vocab",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Label the axes with these tokens: one a line, or JSON.",
)
@common.logdir
@common.as_json
def command(
    run: str | None,
    layer: str | None,
    head: int | None,
    sample: int | None,
    step: int | None,
    vocab: Path | None,
    logdir: Path,
    as_json: bool,
) -> None:
    """Show what the attention heads of a model attend to, and which heads are remarkable.

    For each head over the steps: entropy, distance, sink share, collapse and weight ahead. Remarks name dead or
    collapsed heads, invalid rows, weight on padding, and causal models that attend to later positions. With --head or
    --sample, the weights as a heat map. RUN is a name, the start of a name, or a path; by default the latest run.

    \b
    sleuth attention
    sleuth attention --layer block_1
    sleuth attention --layer block_1 --head 3 --vocab vocab.txt
    sleuth attention --sample 1 --step 100 20251115-2215
    sleuth attention --json
    """
    from tensorsleuth.analyze.attention.summary import summarize
    from tensorsleuth.analyze.attention.to_json import attention_to_json
    from tensorsleuth.diagnose.attention.remarks import attention_lines, remarks_of
    from tensorsleuth.trace.reader import open_trace

    path = run_folder.find(logdir, run)
    trace = open_trace(path)
    inside = trace.inside()
    chosen = _chosen(trace, inside, layer, head)
    names = {one.name for one in chosen}
    remarks = [one for one in remarks_of(inside) if one.layer in names]
    remarks = [one for one in remarks if head is None or head in one.heads]
    pictures = _pictures(inside, chosen, head, sample, step, vocab)
    if as_json:
        console.print_json(attention_to_json(chosen, remarks, pictures, attention_lines(inside)))
        return
    from tensorsleuth.ui.terminal.attention_report import attention_report, is_by_layer
    from tensorsleuth.ui.terminal.verdict import more_findings

    lines = attention_lines(inside)
    summaries = [summarize(one, step, lines.get(one.name)) for one in chosen]
    findings = findings_of(trace)
    told = {one.what for one in remarks}
    more = more_findings([finding for finding in findings if finding.cause not in told])
    console.show(attention_report(summaries, remarks, more, head, console.width()))
    _show(pictures, vocab)
    first = sleuth_command(f"attention --layer {shlex.quote(re.escape(chosen[0].name))}", path)
    each = {first: "each head of the first layer"} if is_by_layer(summaries, head) else {}
    print_hints(each | why_hint(trace, findings))


def _chosen(
    trace: Trace, layer_statistics: LayerStatistics, layer: str | None, head: int | None
) -> list[AttentionSeries]:
    from tensorsleuth.analyze.layers.no_stats import explain_missing_stats
    from tensorsleuth.trace.series.watched import name_matcher

    seen = [one for one in layer_statistics.attention if one.heads]
    if not seen:
        raise SleuthError(explain_missing_stats(trace, layer_statistics, "attention"))
    is_named = name_matcher(layer)
    found = [one for one in seen if is_named(one.name)]
    if not found:
        raise SleuthError(
            f"--layer {layer}: no attention layer has that name. The layers are {_listed([one.name for one in seen])}."
        )
    most = max(one.heads for one in found)
    if head is not None and head >= most:
        there = f"the heads are 0 to {most - 1}" if most > 1 else "the only head is 0"
        raise SleuthError(f"--head {head}: {there}.")
    return [one for one in found if head is None or head < one.heads]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def _pictures(
    layer_statistics: LayerStatistics,
    chosen: list[AttentionSeries],
    head: int | None,
    sample: int | None,
    step: int | None,
    vocab: Path | None,
) -> list[Picture]:
    from tensorsleuth.analyze.attention.picture import make_picture, sample_nearest
    from tensorsleuth.data.tokens.vocabulary_file import read_vocabulary

    vocabulary = read_vocabulary(vocab) if vocab is not None else None
    if head is None and sample is None and vocab is None:
        return []
    pairs = [(one, at) for one in chosen for at in (range(min(one.heads, 32)) if head is None else [head])]
    return [
        make_picture(one, sample_nearest(one, step), at, sample or 0, layer_statistics.inputs, vocabulary)
        for one, at in pairs[:MAX_PICTURES]
    ]


def _show(pictures: Sequence[Picture], vocab: Path | None) -> None:
    from rich.text import Text

    from tensorsleuth.ui.terminal.charts.heat_map import heat_map

    for one in pictures:
        console.show(Text())
        console.show(heat_map(one, console.width()))
    if vocab is not None and any(one.keys is None for one in pictures):
        console.note(" No ids of the batch fit the keys: positions are shown, not tokens (docs/transformers.md).")
    if len(pictures) == MAX_PICTURES:
        console.note(f" The first {MAX_PICTURES} heat maps. Fewer: --layer REGEX, --head N.")
