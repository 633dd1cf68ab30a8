"""The answer of `sleuth memory --fit`, as plain values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.batch_size.advice import Advice, Advisor
from tensorsleuth.analyze.memory.batch_size.peak_model import PeakModel
from tensorsleuth.analyze.memory.labels import KINDS
from tensorsleuth.analyze.memory.report import accounts_of
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
FAR_FACTOR = 8  # times the recorded batch or sequence: farther than was ever compared with reality
LIMIT_GIVEN, LIMIT_OF_CGROUP, LIMIT_OF_MACHINE = "as requested", "of the container (cgroup)", "of the machine"


@dataclass(frozen=True)
class KindGrowth:
    """The memory of one kind of tensors at the peak, and how much of it grows with the batch."""

    kind: str
    bytes: int
    growing: int


@dataclass(frozen=True)
class FitReport:
    """The model of one process, applied to a limit, a batch and a sequence."""

    run: str
    pid: int
    fit: PeakModel
    limit: int
    limit_source: str  # one of the LIMIT_ constants
    batch: int  # requested
    sequence: int | None

    @cached_property
    def peak(self) -> int:
        """The predicted peak of the requested sizes."""
        return self.fit.peak(self.batch, self.sequence)

    @property
    def fits(self) -> bool:
        return self.peak <= self.limit

    @cached_property
    def largest_batch(self) -> int:
        return self.fit.largest_batch(self.limit, self.sequence)

    @cached_property
    def largest_sequence(self) -> int | None:
        return self.fit.largest_sequence(self.limit, self.batch)

    @cached_property
    def advisor(self) -> Advisor:
        return Advisor(self.fit, self.batch, self.sequence, self.limit)

    @cached_property
    def advice(self) -> list[Advice]:
        return self.advisor.all()

    @cached_property
    def kinds(self) -> list[KindGrowth]:
        """The memory by kind, the largest first."""
        found = [KindGrowth(kind, *self.advisor.of_kind(kind)) for kind in KINDS]
        return sorted((one for one in found if one.bytes), key=lambda one: -one.bytes)

    @property
    def bytes_outside_tensors(self) -> int:
        """Bytes of the peak that are in no tensor."""
        return max(self.peak - sum(one.bytes for one in self.kinds), 0)

    @cached_property
    def bytes_per_sample(self) -> int:
        """The bytes of one more sample, on average between the recorded batch and `other_batch`."""
        other = self.other_batch
        return (self.fit.peak(other, self.sequence) - self._measured_peak) // (other - self.fit.batch)

    @property
    def fixed_bytes(self) -> int:
        """The bytes that do not depend on the batch: with `bytes_per_sample`, they give both peaks."""
        return max(self._measured_peak - self.bytes_per_sample * self.fit.batch, 0)

    @cached_property
    def _measured_peak(self) -> int:
        return self.fit.peak(self.fit.batch, self.sequence)

    @property
    def other_batch(self) -> int:
        """The requested batch if it differs from the recorded one, else the largest that fits."""
        told = (self.batch, 0 if self.is_far else self.largest_batch, 4 * self.fit.batch)
        return next(batch for batch in told if batch not in (0, self.fit.batch))

    @property
    def sentence(self) -> str:
        """The answer in one line: `batch 38 (64 requested); or sequence 960; or bfloat16 activations at batch 64`."""
        if self.fits:
            return f"batch {self.batch:,} fits; up to {self._largest_words}"
        ways = [f"{self._largest_words} ({self.batch:,} requested)"] if self.largest_batch else []
        if self.largest_sequence:
            ways.append(rounded_if_far(self.largest_sequence, self.fit.sequence or 1, "sequence "))
        for name, words in (("precision", "bfloat16 activations"), ("recomputation", "activations recomputed")):
            if any(one.name == name and one.peak <= self.limit for one in self.advice):
                ways.append(f"{words} at batch {self.batch:,}")
        return "; or ".join(ways) or "not even a batch of 1"

    @property
    def is_far(self) -> bool:
        """Return whether the largest batch is far larger than the recorded one."""
        return self.largest_batch > FAR_FACTOR * self.fit.batch

    @property
    def _largest_words(self) -> str:
        words = rounded_if_far(self.largest_batch, self.fit.batch, "batch ")
        return f"{words}, extrapolated from batch {self.fit.batch:,}" if self.is_far else words

    def to_json(self) -> dict[str, Any]:
        """Return the fields listed in docs/memory.md."""
        return {
            "run": self.run,
            "pid": self.pid,
            "seen": {"peak": self.fit.measured_peak, "batch": self.fit.batch, "sequence": self.fit.sequence},
            "model": {"fixed": self.fixed_bytes, "a_sample": self.bytes_per_sample},
            "limit": {"bytes": self.limit, "of": self.limit_source},
            "asked": {"batch": self.batch, "sequence": self.sequence, "peak": self.peak, "fits": self.fits},
            "largest": {"batch": self.largest_batch, "sequence": self.largest_sequence, "extrapolated": self.is_far},
            "sentence": self.sentence,
            "kinds": [asdict(one) for one in self.kinds],
            "elsewhere": self.bytes_outside_tensors,
            "advice": [asdict(one) for one in self.advice],
        }


def rounded_if_far(number: int, recorded: int, what: str = "") -> str:
    """`batch 1,234`, or `about batch 170,000` if it is far from the number that was recorded."""
    if number <= FAR_FACTOR * recorded:
        return f"{what}{number:,}"
    unit = 10 ** max(len(str(number)) - 2, 0)
    return f"about {what}{number // unit * unit:,}"


def fit_reports(trace: Trace, limit: int | None, batch: int | None, sequence: int | None) -> list[FitReport]:
    """Return the fit of each process that trains, the largest first; raise if nothing is known of any."""
    found, why = [], None
    for account in accounts_of(trace):
        peak_model = PeakModel(account)
        try:
            peak_model.check()
        except SleuthError as error:
            why = why or error
            continue
        found.append(_fit_report(trace, peak_model, limit, batch, sequence))
    if not found and why is not None:
        raise why
    return sorted(found, key=lambda one: -one.fit.measured_peak)


def _fit_report(
    trace: Trace, peak_model: PeakModel, limit: int | None, batch: int | None, sequence: int | None
) -> FitReport:
    if sequence is not None and peak_model.sequence is None:
        raise SleuthError(
            "--sequence cannot be used: no input with a sequence was found.\n"
            "  No input has the shape [batch, sequence] of integers, or\n"
            "  [batch, sequence, features]; or weights have its length.\n"
            "  Leave --sequence out."
        )
    bytes_, whose = (limit, LIMIT_GIVEN) if limit is not None else memory_limit(peak_model.account)
    pid = peak_model.account.process.catalogue.meta.get("pid")
    place = trace.path.name, pid if isinstance(pid, int) else 0
    return FitReport(*place, peak_model, bytes_, whose, batch or peak_model.batch, sequence or peak_model.sequence)


def memory_limit(memory_account: MemoryAccount) -> tuple[int, str]:
    """Return the smaller of the container's limit and the machine's memory that was available at the start."""
    first = memory_account.samples[0]
    machine = int(first["available"]) + int(first["resident"])
    group = int(memory_account.samples["group_limit"][-1])
    return (group, LIMIT_OF_CGROUP) if 0 < group <= machine else (machine, LIMIT_OF_MACHINE)


def parse_bytes(text: str) -> int:
    """Parse `12GB`, `800 MB`, `2GiB`, or a number of bytes."""
    found = _AMOUNT.fullmatch(text.strip())
    amount = (
        float(found.group(1)) * (1024 if found.group(3) else 1000) ** _UNITS[found.group(2).lower()] if found else 0
    )
    if not found or not np.isfinite(amount) or amount < 1:
        raise SleuthError(f"--limit {text}: expected an amount of memory, such as 12GB, 800MB or 2GiB.")
    return int(amount)
