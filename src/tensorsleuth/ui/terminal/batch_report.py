"""The report on the largest batch that fits."""

from __future__ import annotations

from textwrap import wrap

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from tensorsleuth.analyze.memory.batch_size.advice import Advice
from tensorsleuth.analyze.memory.batch_size.fit_report import FitReport, KindGrowth, rounded_if_far
from tensorsleuth.core.formatting import fine_size, printable, size
from tensorsleuth.ui.terminal.memory_report import short_place

NAME_WIDTH = 18


def batch_report(fit_report: FitReport, width: int) -> RenderableType:
    """Return the report: the answer in one line, the model, the tensors that grow, and what each remedy saves."""
    parts = [_headline(fit_report, width), Text(), *_model(fit_report), Text(), _kinds(fit_report)]
    if fit_report.advice:
        parts += [Text(), _advice(fit_report, width)]
    return Lines(*parts)


def _headline(fit_report: FitReport, width: int) -> Text:
    tag, style = (" FITS ", "bold reverse green") if fit_report.fits else (" TOO LARGE ", "bold reverse red")
    words = fit_report.sentence if fit_report.fits else f"what fits: {fit_report.sentence}"
    indent = len(tag) + 2
    lines = wrap(words, max(width - indent, 20))
    return Text.assemble((tag, style), "  ", (("\n" + " " * indent).join(lines), "bold"))


def _model(fit_report: FitReport) -> list[Text]:
    fit = fit_report.fit
    run = f"batch {fit.batch:,}" + (f", sequence {fit.sequence:,}" if fit.sequence else "")
    lines = [
        _line("Measured peak", size(fit.measured_peak), f"resident, with {run}"),
        _line(
            "Model",
            fine_size(fit_report.fixed_bytes),
            f"and {fine_size(fit_report.bytes_per_sample)} for each sample, {_batch_range(fit_report)}",
        ),
    ]
    if (fit_report.batch, fit_report.sequence) != (fit.batch, fit.sequence):
        asked = f"batch {fit_report.batch:,}" + (f", sequence {fit_report.sequence:,}" if fit_report.sequence else "")
        lines.append(_line("Requested", size(fit_report.peak), f"the predicted peak with {asked}"))
    lines.append(_line("Limit", size(fit_report.limit), fit_report.limit_source))
    same = f"at sequence {fit_report.sequence:,}" if fit_report.sequence else ""
    why = "far from what ran: record a larger batch" if fit_report.is_far else same
    lines.append(_line("Largest batch", rounded_if_far(fit_report.largest_batch, fit.batch), why))
    if fit_report.largest_sequence is not None:
        longest = rounded_if_far(fit_report.largest_sequence, fit.sequence or 1)
        lines.append(_line("Longest sequence", longest, f"at batch {fit_report.batch:,}"))
    return lines


def _batch_range(fit_report: FitReport) -> str:
    seen, other = fit_report.fit.batch, fit_report.other_batch
    return f"up to batch {other:,}" if other > seen else f"down to batch {other:,}"


def _line(name: str, amount: str, words: str) -> Text:
    return Text.assemble((f" {name:<{NAME_WIDTH}}", "bold"), f"{amount:>10}", (f"  {words}" if words else "", "dim"))


def _kinds(fit_report: FitReport) -> Text:
    text = Text(f" {'At that peak':<{NAME_WIDTH}}{'memory':>10}  {'grows with the batch':>20}", "bold")
    for one in [*fit_report.kinds, KindGrowth("not in tensors", fit_report.bytes_outside_tensors, 0)]:
        text.append(f"\n {one.kind:<{NAME_WIDTH}}{size(one.bytes):>10}  ", "not bold")
        text.append(f"{size(one.growing) if one.growing else '–':>20}", "not bold cyan")
    return text


def _advice(fit_report: FitReport, width: int) -> Text:
    sequence = f", sequence {fit_report.sequence:,}" if fit_report.sequence else ""
    title = f"What helps at batch {fit_report.batch:,}{sequence}"
    left = width - 30
    text = Text(f" {title:<{left}}{'saves':>9}  {'peak then':>9}", "bold")
    for one in fit_report.advice:
        fits = one.peak <= fit_report.limit
        text.append(f"\n {_words(one, left - 1):<{left}}{size(one.saves):>9}  {size(one.peak):>9}", "not bold")
        text.append("  fits" if fits else "", "not bold green")
    return text


def _words(one: Advice, room: int) -> str:
    place = f", {short_place(f'{one.file}:{one.line}')}" if one.file is not None else ""
    words = printable(one.text + place)
    return words if len(words) <= room else words[: room - 1] + "…"
