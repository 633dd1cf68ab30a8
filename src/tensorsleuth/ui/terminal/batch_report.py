"""The report of the batch that fits."""

from __future__ import annotations

from textwrap import wrap

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from tensorsleuth.analyze.memory.batch_size.advice import Advice
from tensorsleuth.analyze.memory.batch_size.fit_report import Fitting, Grows
from tensorsleuth.core.formatting import fine_size, printable, size
from tensorsleuth.ui.terminal.memory_report import short_place

NAME = 18


def batch_report(fitting: Fitting, width: int) -> RenderableType:
    """Return the report: what fits, in one line; the model; what grows; what helps, and by how much."""
    parts = [_headline(fitting, width), Text(), *_model(fitting), Text(), _kinds(fitting)]
    if fitting.advice:
        parts += [Text(), _advice(fitting, width)]
    return Lines(*parts)


def _headline(fitting: Fitting, width: int) -> Text:
    tag, style = (" FITS ", "bold reverse green") if fitting.fits else (" TOO LARGE ", "bold reverse red")
    words = fitting.sentence if fitting.fits else f"what fits: {fitting.sentence}"
    indent = len(tag) + 2
    lines = wrap(words, max(width - indent, 20))
    return Text.assemble((tag, style), "  ", (("\n" + " " * indent).join(lines), "bold"))


def _model(fitting: Fitting) -> list[Text]:
    fit = fitting.fit
    run = f"batch {fit.batch:,}" + (f", sequence {fit.sequence:,}" if fit.sequence else "")
    lines = [
        _line("Peak seen", size(fit.seen), f"resident, with {run}"),
        _line(
            "Model", fine_size(fitting.fixed), f"and {fine_size(fitting.a_sample)} for each sample, {_up_to(fitting)}"
        ),
    ]
    if (fitting.batch, fitting.sequence) != (fit.batch, fit.sequence):
        asked = f"batch {fitting.batch:,}" + (f", sequence {fitting.sequence:,}" if fitting.sequence else "")
        lines.append(_line("Asked for", size(fitting.peak), f"the peak to expect with {asked}"))
    lines.append(_line("Limit", size(fitting.limit), fitting.whose))
    same = f"at sequence {fitting.sequence:,}" if fitting.sequence else ""
    lines.append(_line("Largest batch", f"{fitting.largest_batch:,}", same))
    if fitting.largest_sequence is not None:
        lines.append(_line("Longest sequence", f"{fitting.largest_sequence:,}", f"at batch {fitting.batch:,}"))
    return lines


def _up_to(fitting: Fitting) -> str:
    seen, other = fitting.fit.batch, fitting.other_batch
    return f"up to batch {other:,}" if other > seen else f"down to batch {other:,}"


def _line(name: str, amount: str, words: str) -> Text:
    return Text.assemble((f" {name:<{NAME}}", "bold"), f"{amount:>10}", (f"  {words}" if words else "", "dim"))


def _kinds(fitting: Fitting) -> Text:
    text = Text(f" {'At that peak':<{NAME}}{'memory':>10}  {'grows with the batch':>20}", "bold")
    for one in [*fitting.kinds, Grows("not in tensors", fitting.elsewhere, 0)]:
        text.append(f"\n {one.kind:<{NAME}}{size(one.bytes):>10}  ", "not bold")
        text.append(f"{size(one.growing) if one.growing else '–':>20}", "not bold cyan")
    return text


def _advice(fitting: Fitting, width: int) -> Text:
    sequence = f", sequence {fitting.sequence:,}" if fitting.sequence else ""
    title = f"What helps at batch {fitting.batch:,}{sequence}"
    left = width - 30
    text = Text(f" {title:<{left}}{'saves':>9}  {'peak then':>9}", "bold")
    for one in fitting.advice:
        fits = one.peak <= fitting.limit
        text.append(f"\n {_words(one, left - 1):<{left}}{size(one.saves):>9}  {size(one.peak):>9}", "not bold")
        text.append("  fits" if fits else "", "not bold green")
    return text


def _words(one: Advice, room: int) -> str:
    place = f", {short_place(f'{one.file}:{one.line}')}" if one.file is not None else ""
    words = printable(one.text + place)
    return words if len(words) <= room else words[: room - 1] + "…"
