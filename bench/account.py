"""`python -m bench.account`: where the extra time of a short step goes, part by part, written into docs/performance.md.

A busy machine slows all processes, so the figures are CPU time, in rounds that take turns, and ratios only. What does
not depend on the machine stands beside them: rows of tensors and calls of our Python functions, for one batch.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import quantiles
from typing import Any

import click

from bench import tables
from bench.ablation import PARTS, WITHOUT
from bench.machine import ROOT, Machine, this_machine
from bench.rounds import Sample, interleave
from bench.row import Bench

KEPT = ROOT / "bench" / "account.json"
PAGE = ROOT / "docs" / "performance.md"
PROGRAMS = {"keras-mlp": 300, "keras-cnn": 60}  # batches of a round
MODES = ("FULL_HEALTH", "FLIGHT")
TITLES = {"keras-mlp": "Keras MLP", "keras-cnn": "Keras CNN"}
TABLE = "account"

Account = dict[str, dict[str, dict[str, float]]]  # by program and variant


@click.command()
@click.option("--rounds", type=click.IntRange(min=4), default=8, show_default=True)
@click.option("--program", type=click.Choice(list(PROGRAMS)), multiple=True, help="Only this one.")
def main(rounds: int, program: tuple[str, ...]) -> None:
    """Measure each part of a recording by turning it off, and write the account."""
    account = {name: measure(name, rounds) for name in program or PROGRAMS}
    content = {"machine": asdict(this_machine()), "account": account}
    KEPT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(kept())
    write_page()


def measure(program: str, rounds: int) -> dict[str, dict[str, float]]:
    """Return the figures of each variant of a program."""
    variants = [*MODES, *(f"{MODES[0]}{WITHOUT}{part}" for part in PARTS)]
    steps = PROGRAMS[program]
    with tempfile.TemporaryDirectory(prefix="account-") as folder:
        bench = Bench(Path(folder), lambda text: print(f"  {program}: {text}", flush=True))
        given = {"bare": ""} | {f"part-{number}": variant for number, variant in enumerate(variants)}
        samples = interleave(bench, program, steps, given, rounds)
    if samples.failed:
        raise click.ClickException(str(samples.failed))
    bare = samples.rounds.pop("bare")
    return {given[name]: _figures(rounds_of, bare, steps) for name, rounds_of in samples.rounds.items()}


def _figures(samples: list[Sample], bare: list[Sample], steps: int) -> dict[str, float]:
    """Compare the lower quartiles: whatever else the machine does only adds to the time of a round."""
    ours, theirs = (quantiles([one["cpu"] for one in each], n=4)[0] for each in (samples, bare))
    last = samples[-1]
    return {
        "ratio": round(ours / theirs, 3),
        "bare_ms": round(1000 * theirs / steps, 3),
        "rows": round(last["rows"] / steps, 1),
        "python": round(last["python"] / steps, 1),
    }


def table(machine: Machine, account: dict[str, Any]) -> str:
    """Return the text between the marks."""
    names = list(account)
    head = ["CPU time of a batch, over the bare program's", *(f"{TITLES[name]}" for name in names)]
    lines = [["bare", *(f"{account[name][MODES[0]]['bare_ms']:.2f} ms" for name in names)]]
    lines += [[f"`{mode}`", *(f"{account[name][mode]['ratio']:.2f} x" for name in names)] for mode in MODES]
    for part, (title, _) in PARTS.items():
        lines.append([f"… without {title}", *(f"{_without(account[name], part)['ratio']:.2f} x" for name in names)])
    lines += [
        [f"{title}, `{mode}`", *(f"{account[name][mode][key]:.0f}" for name in names)]
        for key, title in (("rows", "rows of tensors"), ("python", "calls of our Python functions"))
        for mode in MODES
    ]
    return tables._text([f"One run of `python -m bench.account` on {machine}.", "", *tables._table(head, lines)])


def _without(of_program: dict[str, dict[str, float]], part: str) -> dict[str, float]:
    return of_program[f"{MODES[0]}{WITHOUT}{part}"]


def kept() -> str:
    """Return the text for the run that is kept."""
    content = json.loads(KEPT.read_text())
    return table(Machine(**content["machine"]), content["account"])


def write_page() -> None:
    PAGE.write_text(tables.put(PAGE.read_text(), TABLE, kept()))


if __name__ == "__main__":
    main(prog_name="python -m bench.account")
