"""What `sleuth run` does beside the program: the recorder begins with TensorFlow; what is said at the end."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from tests.integration import started
from tests.integration.started import SOURCES, bare, meta, processes, sleuth, write

place, fakes = started.place, started.fakes  # fixtures


LOOK_AROUND = """
import sys
path, finders = list(sys.path), len(sys.meta_path)
import tensorflow, tensorflow
print(path == sys.path, finders - len(sys.meta_path), sys.real_loader, vars(tensorflow.__loader__).keys())
"""


def test_recorder_starts_once_tensorflow_is_imported(fakes: Path) -> None:
    write(Path("prog.py"), LOOK_AROUND)
    chosen = ["--mode", "curt_health", "--op-regex", "Mat.*", "--tensor-dtypes", "float32, float16"]
    assert sleuth(*chosen, "prog.py").stdout == "True 1 SourceFileLoader dict_keys(['name', 'path'])\n"
    (folder,) = processes()
    settings = json.loads((folder / "settings").read_text())
    assert sorted(settings.pop("tensor_dtypes")) == ["float16", "float32"]
    assert settings == {"mode": "CURT_HEALTH", "op_regex": "Mat.*", "circular_buffer_size": None, "inside_every": 100}


def test_garbage_is_not_collected_while_the_recorder_starts(fakes: Path) -> None:
    """A collection would look through all that TensorFlow has made; the program's setting stays."""
    recorder = fakes / "tensorsleuth/live/startup/start.py"
    text = recorder.read_text()
    recorder.write_text(
        f"{text}\n_start = start\n\n\ndef start():\n    import gc\n    print(gc.isenabled())\n    _start()\n"
    )
    program = "import gc; {}; import tensorflow; print(gc.isenabled())"
    assert sleuth("-c", program.format("gc.enable()")).stdout == "False\nTrue\n"
    assert sleuth("-c", program.format("gc.disable()")).stdout == "False\nFalse\n"


def test_grandchildren_are_recorded_too(fakes: Path) -> None:
    program = """
import multiprocessing, subprocess, sys
def work():
    import tensorflow
if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=work)
        process.start()
        process.join()
    subprocess.run([sys.executable, "-c", "import tensorflow"], check=True)
"""
    write(Path("prog.py"), program)
    assert sleuth("prog.py").returncode == 0
    assert len(processes()) == 4


def test_programs_join_a_run_by_its_name(fakes: Path) -> None:
    first = sleuth("--join", "both", "-c", "import tensorflow, sys; sys.exit(3)")
    second = sleuth("--join", "both", "-c", "import tensorflow")
    assert (first.returncode, second.returncode) == (3, 0)
    (run,) = (fakes.parent / "sleuth_runs").iterdir()
    assert run.name == "both" and len(list(run.glob("p-*"))) == 2
    assert json.loads((run / "run.json").read_text())["ended"]["exit"] == 3
    refused = sleuth("--join", "../elsewhere", "-c", "print('ran')")
    assert refused.returncode == 2 and "cannot be the name of a run" in refused.stderr and not refused.stdout


def test_a_recorder_that_fails_costs_one_line(fakes: Path) -> None:
    write(fakes / "tensorsleuth/live/startup/start.py", "def start(): raise OSError('no space')")
    done = sleuth("--quiet", "-c", "import tensorflow; print('trained')")
    assert (done.stdout, done.returncode) == ("trained\n", 0)
    assert done.stderr == "tensorsleuth: not recording: OSError: no space\n"


def test_a_tensorflow_that_fails_shows_no_frame_of_ours(fakes: Path) -> None:
    write(fakes / "tensorflow/__init__.py", "raise RuntimeError('broken')")
    write(Path("prog.py"), "import tensorflow")
    seen, expected = sleuth("--quiet", "prog.py"), bare("prog.py")
    assert (seen.stderr, seen.returncode) == (
        expected.stderr,
        expected.returncode,
    ) and "broken" in seen.stderr


def test_tensorflow_that_failed_can_be_imported_again(fakes: Path) -> None:
    write(
        fakes / "tensorflow/__init__.py",
        "import sys\nif not hasattr(sys, 'twice'):\n    sys.twice = 1; 1 / 0\nversion = 1",
    )
    code = "try:\n    import tensorflow\nexcept ZeroDivisionError:\n    import tensorflow"
    assert sleuth("-c", code).returncode == 0
    assert len(processes()) == 1


HIDE_INSTALLED = """
import sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path and not path.endswith("/src")]
sys.meta_path[:] = [finder for finder in sys.meta_path if "ditable" not in repr(finder)]
"""


def test_package_that_is_not_installed_is_found_and_leaves_the_path_alone(fakes: Path) -> None:
    """The recorder of a parent that runs from a source tree, in a child that could not import it."""
    tree = Path("tree/tensorsleuth").absolute()
    for name in ("inject/sitecustomize.py", "live/startup/autostart.py"):
        write(tree / name, (SOURCES / "tensorsleuth" / name).read_text())
    (fakes / "tensorsleuth").rename(fakes / "recorder")
    for name in ("__init__.py", "live/startup/__init__.py", "live/startup/start.py"):
        write(tree / name, (fakes / "recorder" / name).read_text())
    write(fakes / "sitecustomize.py", HIDE_INSTALLED)
    paths = f"{tree / 'inject'}{os.pathsep}{fakes}"
    environment = {"PYTHONPATH": paths, "SLEUTH_RUN": str(fakes), "SLEUTH_SETTINGS": "{}"}
    code = "import tensorflow, tensorsleuth as t, sys; print(t.__file__, [p for p in sys.path if 'tree' in p])"
    done = bare("-c", code, env=environment)
    assert (done.stdout, done.stderr) == (f"{tree / '__init__.py'} []\n", "")
    assert list(fakes.glob("p-*"))


def test_closing_lines(fakes: Path) -> None:
    write(Path("train.py"), "import tensorflow")
    said = sleuth("train.py").stderr
    assert re.search(r"^ sleuth  train\.py finished \(exit 0\) in \d+\.\d s", said)
    assert " UNKNOWN The recording cannot be read." in said and "sleuth view" not in said  # nothing to look at


def test_failure_and_no_tensorflow_are_said(place: Path) -> None:
    said = sleuth("-c", "import sys; sys.exit(4)").stderr
    assert re.search(r"^ sleuth  the command failed \(exit 4\) after \d+\.\d s$", said, re.MULTILINE)
    assert "the program never imported TensorFlow" in said


def test_quiet(fakes: Path) -> None:
    done = sleuth("--quiet", "-c", "import tensorflow")
    assert (done.stdout, done.stderr) == ("", "")


def test_run_folder_says_what_ran(place: Path) -> None:
    write(place / "train.py", "")
    sleuth("train.py", "--epochs", "3")
    found = meta()
    assert found["program"] == ["train.py", "--epochs", "3"]
    assert (found["cwd"], found["python"], found["version"]) == (str(place), sys.executable, 1)
    assert re.fullmatch(r"\d{8}-\d{6}-train", next(Path("sleuth_runs").iterdir()).name)


def test_a_log_directory_that_cannot_be_made_does_not_stop_the_program(place: Path) -> None:
    write(place / "taken", "")
    done = sleuth("--logdir", "taken", "-c", "import sys; print('trained'); sys.exit(5)")
    assert (done.stdout, done.returncode) == ("trained\n", 5)
    assert "not recording: cannot make a run in" in done.stderr and "Traceback" not in done.stderr
