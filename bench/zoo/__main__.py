"""`python -m bench.zoo [PROGRAM …]`: measure the programs bare and watched; a whole run goes into docs/."""

from __future__ import annotations

import compileall
import sys
import time
from dataclasses import dataclass, field

import click

from bench.machine import ROOT, Machine, this_machine
from bench.row import in_short
from bench.zoo.harness import limits, results, table
from bench.zoo.harness.figures import LONG, STEP, Figures, figures
from bench.zoo.harness.programs import PROGRAMS, Program
from bench.zoo.harness.samples import take
from bench.zoo.harness.variants import BARE, TITLES

ROUNDS, QUICK_ROUNDS, INTERRUPTED = 5, 1, 130


def variants_of(context: click.Context, option: click.Parameter, value: str | None) -> list[str]:
    """Read a list of variants. The bare program always runs, since all others are compared with it."""
    names = value.split(",") if value else [*TITLES]
    if unknown := [name for name in names if name not in TITLES]:
        raise click.BadParameter(f"unknown: {', '.join(unknown)}. Choose from {', '.join(TITLES)}.")
    return [BARE, *names]


@click.command()
@click.argument("names", metavar="[PROGRAM]...", nargs=-1, type=click.Choice([one.name for one in PROGRAMS]))
@click.option("--rounds", type=click.IntRange(min=1), help=f"Rounds of each program, in place of {ROUNDS}.")
@click.option("--variants", callback=variants_of, help=f"Only these, with commas between: {','.join(TITLES)}.")
@click.option("--quick", is_flag=True, help="One round of a tenth of the steps: to see that it runs, not to quote.")
@click.option("--onednn/--no-onednn", default=True, help="With oneDNN's kernels, or without.  [default: with]")
@click.option("--tables", "only_tables", is_flag=True, help="Measure nothing: write the tables of the kept runs anew.")
def main(
    names: tuple[str, ...], rounds: int | None, variants: list[str], quick: bool, onednn: bool, only_tables: bool
) -> None:
    """Measure PROGRAMs (all of them when none is named), bare and watched in turns, and show the figures.

    A run of all programs and variants with at least the usual rounds goes into bench/zoo.json, and the tables of
    docs/performance.md are written from it. Any other run is only shown. build/zoo.json has the latest run of any
    kind, also one that was interrupted.
    """
    if only_tables:
        table.write_page(results.load(results.KEPT))
        return
    programs = [one.quickly() if quick else one for one in PROGRAMS if not names or one.name in names]
    session = Session(programs, variants, rounds or (QUICK_ROUNDS if quick else ROUNDS), onednn, this_machine())
    is_whole = len(programs) == len(PROGRAMS) and set(variants) == {BARE, *TITLES} and not quick
    finished = session.measure_all()
    session.close(finished and is_whole and session.rounds >= ROUNDS)
    sys.exit(0 if finished else INTERRUPTED)


@dataclass
class Session:
    """One run: what is measured, and the figures so far."""

    programs: list[Program]
    variants: list[str]
    rounds: int
    onednn: bool
    machine: Machine
    run: results.Run = field(init=False)

    def __post_init__(self) -> None:
        self.run = results.Run(self.machine)

    @property
    def setting(self) -> str:
        return results.SETTINGS[self.onednn]

    def measure_all(self) -> bool:
        """Measure program by program, keeping each at once; return False if Ctrl-C ended it."""
        print(f"{self.machine}, oneDNN {self.setting}")
        if self.machine.is_busy:
            print(f"The machine is busy (load {self.machine.load:.1f}): figures will scatter.")
        compileall.compile_dir(ROOT / "src", quiet=1)  # else the first run alone would compile what it imports
        try:
            for number, program in enumerate(self.programs, 1):
                self.run.programs[program.name] = self._measure(program, f"{number} of {len(self.programs)}")
                results.save({self.setting: self.run}, results.LATEST)
        except KeyboardInterrupt:
            return False
        return True

    def _measure(self, program: Program, number: str) -> Figures:
        start = time.perf_counter()

        def progress(text: str) -> None:
            print(f"  {program.name} ({number}): {text} ({time.perf_counter() - start:.0f} s)", flush=True)

        samples = take(program, self.variants, self.rounds, self.onednn, progress)
        samples.failed = {variant: in_short(error) for variant, error in samples.failed.items()}
        measured = figures(samples)
        for line in summary(measured):
            print(f"    {line}")
        return measured

    def close(self, is_kept: bool) -> None:
        """Keep a whole run and write its tables; say where the figures of any other are."""
        for miss in limits.missed(self.run.programs):
            print(f"Missed: {miss}".replace("**", ""))
        if is_kept:
            results.save(results.load(results.KEPT) | {self.setting: self.run}, results.KEPT)
            table.write_page(results.load(results.KEPT))
            print("Written: bench/zoo.json, docs/performance.md.")
        elif self.run.programs:
            print(f"{len(self.run.programs)} of {len(PROGRAMS)} programs are in build/zoo.json. docs/ is as it was.")


def summary(measured: Figures) -> list[str]:
    """Return a line for each variant of a program: what it takes over the bare program, or its error."""
    lines = []
    for variant, one in measured["variants"].items():
        times = f"step {table.pair(one[STEP])}, 20 s {table.pair(one[LONG])}"
        lines.append(f"{TITLES[variant]}: {times}, memory {table.peak_cell(variant, measured).replace('**', '')}")
    return [
        *lines,
        *(f"{TITLES.get(variant, variant)} failed: {error}" for variant, error in measured["failed"].items()),
    ]


if __name__ == "__main__":
    main(prog_name="python -m bench.zoo")
