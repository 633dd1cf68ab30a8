"""Under `sleuth run` a program that crashes looks as it does without us, and its lines are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.integration import started
from tests.integration.started import bare, sleuth, write

place, fakes = started.place, started.fakes  # fixtures

CRASHES = {
    "segfault": "import tensorflow, ctypes\nctypes.string_at(0)\n",
    "abort": "import tensorflow, os\nos.abort()\n",
    "its own faulthandler": "import faulthandler, tensorflow, ctypes\nfaulthandler.enable()\nctypes.string_at(0)\n",
    "enabled before": "import faulthandler\nfaulthandler.enable()\nimport tensorflow, ctypes\nctypes.string_at(0)\n",
    "given up": "import faulthandler, tensorflow, os\nfaulthandler.enable()\nfaulthandler.disable()\nos.abort()\n",
}


def same(text: str) -> str:
    """Without what differs from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("name", CRASHES)
def test_crash_looks_as_without_us(fakes: Path, name: str) -> None:
    write(Path("prog.py"), CRASHES[name])
    seen, expected = sleuth("--quiet", "prog.py"), bare("prog.py")
    assert (seen.returncode, same(seen.stderr)) == (expected.returncode, same(expected.stderr))


def test_lines_of_a_crash_are_kept_in_the_run(fakes: Path) -> None:
    write(Path("prog.py"), CRASHES["segfault"])
    sleuth("prog.py")
    (file,) = Path("sleuth_runs").glob("*/faults/*")
    assert re.search(r'prog.py", line 2 in <module>', file.read_text())


def test_program_that_does_not_crash_leaves_no_such_file_and_has_its_usual_descriptors(fakes: Path) -> None:
    write(Path("prog.py"), "import tensorflow\nprint(open('/dev/null').fileno())\n")
    assert sleuth("prog.py").stdout == bare("prog.py").stdout
    assert list(Path("sleuth_runs").glob("*/faults")) == []


def test_signal_that_asks_where_it_is_does_not_end_a_program(fakes: Path) -> None:
    write(Path("prog.py"), "import tensorflow, os, time\nos.kill(os.getpid(), 59)\ntime.sleep(0.01)\nprint('lives')\n")
    assert sleuth("prog.py").stdout == "lives\n"
    (file,) = Path("sleuth_runs").glob("*/faults/*")
    assert 'prog.py", line 2 in <module>' in file.read_text()
