"""Questions asked of a trace. The package can be called, as `tensorsleuth.diagnose(run)`.

Importing a part of it makes Python set `tensorsleuth.diagnose` to this package, whatever stood there: so that the call
works in every order of imports, the package itself answers it.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Diagnosis
    from tensorsleuth.trace.reader import Trace


def diagnose(run: Trace | str | os.PathLike[str] | None = None) -> Diagnosis:
    """Return the diagnosis of a run: an open trace, a name, the start of one, or a path; the latest run by default."""
    from tensorsleuth.diagnose.report import diagnose as report
    from tensorsleuth.trace.reader import Trace, open_trace

    return report(run if isinstance(run, Trace) else open_trace(run))


class _Callable(ModuleType):
    def __call__(self, run: Trace | str | os.PathLike[str] | None = None) -> Diagnosis:
        return diagnose(run)


sys.modules[__name__].__class__ = _Callable
