"""`sleuth run` stands in for `python`: the program must not be able to tell. No TensorFlow needed here."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
# Not PYTHONPATH: the child must find the package by itself.
SLEUTH = [
    sys.executable,
    "-c",
    f"import sys; sys.path[0] = {str(SOURCES)!r}; from tensorsleuth.cli.main import main; main()",
]
RUN = [*SLEUTH, "run"]

SHOW_SELF = """
import json, sys
print(json.dumps([sys.argv, __name__, __file__, sys.path, list(sys.flags), sys.orig_argv[1:],
                  "sitecustomize" in sys.modules, "tensorsleuth" in sys.modules]))
"""
# A TensorFlow and a recorder that only leave word that they were there.
FAKE_TENSORFLOW = "import sys\nsys.real_loader = type(__loader__).__name__\nversion = 1\n"
FAKE_RECORDER = """
import os, sys
def start():
    import tensorflow
    assert tensorflow.version == 1, "start() came before the import was done"
    folder = os.path.join(os.environ["SLEUTH_RUN"], f"p-{os.getpid()}")
    os.mkdir(folder)
    with open(os.path.join(folder, "settings"), "w") as file:
        file.write(os.environ["SLEUTH_SETTINGS"])
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no setting of ours in the environment."""
    for name in ("SLEUTH_LOGDIR", "SLEUTH_RUN", "SLEUTH_SETTINGS", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fakes(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake tensorflow and a fake recorder on PYTHONPATH."""
    write(place / "fakes/tensorflow/__init__.py", FAKE_TENSORFLOW)
    write(place / "fakes/tensorsleuth/__init__.py", "")
    write(place / "fakes/tensorsleuth/capture/__init__.py", "")
    write(place / "fakes/tensorsleuth/capture/inject.py", FAKE_RECORDER)
    monkeypatch.setenv("PYTHONPATH", str(place / "fakes"))
    return place / "fakes"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def sleuth(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=60, **options)  # type: ignore


def bare(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, **options)  # type: ignore


def meta() -> dict[str, object]:
    (path,) = Path("sleuth_runs").glob("*/run.json")
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


def processes() -> list[Path]:
    return sorted(Path("sleuth_runs").glob("*/p-*"))


# ---- what the program sees


@pytest.mark.parametrize(
    "name", ["prog.py", "a folder/my prog.py", "größe ☃.py", "./sub/../prog.py", "no_extension"]
)  # fmt: skip
def test_program_sees_what_it_would_have_seen(place: Path, name: str) -> None:
    (place / "sub").mkdir()
    write(place / name, SHOW_SELF)
    arguments = [name, "--mode", "x", "--quiet", "-m", "", "a b"]
    assert sleuth(*arguments).stdout == bare(*arguments).stdout != ""


def test_absolute_program_from_elsewhere(place: Path) -> None:
    program = write(place / "there/prog.py", SHOW_SELF)
    assert sleuth(str(program)).stdout == bare(str(program)).stdout != ""


@pytest.mark.parametrize("words", [("-m", "pkg.mod"), ("-mpkg.mod",), ("-m", "pkg")])
def test_module(place: Path, words: tuple[str, ...]) -> None:
    write(place / "pkg/__init__.py", "")
    write(place / "pkg/__main__.py", SHOW_SELF)
    write(place / "pkg/mod.py", SHOW_SELF)
    seen, expected = sleuth(*words, "--logdir", "-c"), bare(*words, "--logdir", "-c")
    assert json.loads(seen.stdout)[:5] == json.loads(expected.stdout)[:5]


def test_code_folder_and_stdin(place: Path) -> None:
    write(place / "app/__main__.py", SHOW_SELF)
    assert sleuth("app", "1").stdout == bare("app", "1").stdout != ""
    code = "import sys; print(sys.argv)"
    assert sleuth("-c", code, "-x").stdout == bare("-c", code, "-x").stdout == "['-c', '-x']\n"
    assert sleuth("-", "-x", input=code).stdout == "['-', '-x']\n"


def test_missing_module_is_left_to_python(place: Path) -> None:
    seen, expected = sleuth("--quiet", "-m", "no_such_module"), bare("-m", "no_such_module")
    assert (seen.returncode, seen.stderr) == (expected.returncode, expected.stderr)


def test_pythonpath_of_the_user_is_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place / "libs/mine.py", "value = 5")
    write(place / "prog.py", SHOW_SELF + "import mine; print(mine.value)")
    monkeypatch.setenv("PYTHONPATH", f"{place / 'libs'}{os.pathsep}relative")
    assert sleuth("prog.py").stdout == bare("prog.py").stdout != ""


@pytest.mark.parametrize("text", ["import sys; sys.mine = 1", "import nothing_like_this", "1 / 0"])
def test_sitecustomize_of_the_user_still_runs(place: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    write(place / "libs/sitecustomize.py", text)
    write(
        place / "prog.py",
        "import sys; print(sys.modules.get('sitecustomize'), hasattr(sys, 'mine'), sys.path)",
    )
    monkeypatch.setenv("PYTHONPATH", str(place / "libs"))
    seen, expected = sleuth("--quiet", "prog.py"), bare("prog.py")
    assert seen.stdout == expected.stdout
    assert seen.stderr == expected.stderr * 2  # what Python says of a broken one, for sleuth and for the program


def test_stdin_is_the_programs_and_stdout_is_untouched(place: Path) -> None:
    program = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    sent = bytes(range(256)) * 1000
    done = subprocess.run([*RUN, "-c", program], input=sent, capture_output=True, timeout=60, check=True)
    assert done.stdout == sent


def test_open_files_are_inherited(place: Path) -> None:
    end, other = os.pipe()
    code = f"import os; os.write({other}, b'hello')"
    subprocess.run([*RUN, "-c", code], pass_fds=[other], check=True, timeout=60)
    assert os.read(end, 10) == b"hello"
    os.close(end)
    os.close(other)


# ---- how it ends


@pytest.mark.parametrize(
    "code", ["", "import sys; sys.exit(3)", "import sys; sys.exit('msg')", "import os; os._exit(255)"]
)
def test_exit_code(place: Path, code: str) -> None:
    seen, expected = sleuth("--quiet", "-c", code), bare("-c", code)
    assert (seen.returncode, seen.stderr) == (expected.returncode, expected.stderr)
    assert meta()["ended"]["exit"] == expected.returncode  # type: ignore[index]


def test_traceback_is_the_same(place: Path) -> None:
    write(place / "prog.py", "def f():\n    raise ValueError('no')\nf()\n")
    seen, expected = sleuth("--quiet", "prog.py"), bare("prog.py")
    assert (seen.returncode, seen.stderr) == (
        expected.returncode,
        expected.stderr,
    ) and "ValueError" in seen.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGINT])
def test_death_by_signal_is_passed_on(place: Path, number: signal.Signals) -> None:
    done = sleuth("-c", f"import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), {number:d})")
    assert done.returncode == -number
    assert meta()["ended"]["signal"] == number.name  # type: ignore[index]
    assert f"the command was killed by {number.name} after" in done.stderr


def test_keyboard_interrupt_ends_as_python_does(place: Path) -> None:
    seen, expected = sleuth("--quiet", "-c", "raise KeyboardInterrupt"), bare("-c", "raise KeyboardInterrupt")
    assert (seen.returncode, seen.stderr) == (expected.returncode, expected.stderr) and seen.returncode == -2


# ---- signals

HANDLER = """
import signal, sys, time
def handler(number, frame):
    print("got", number, flush=True)
    sys.exit(7)
signal.signal({number}, handler)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGINT"])
def test_a_signal_to_us_reaches_the_program(place: Path, name: str) -> None:
    number = int(signal.Signals[name])
    write(place / "prog.py", HANDLER.format(number=number))
    process = subprocess.Popen([*RUN, "prog.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == f"got {number}\n"
    assert process.returncode == 7


def test_program_killed_from_outside(place: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = subprocess.Popen([*RUN, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert meta()["pid"] == pid
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_what_was_ignored_stays_ignored(place: Path) -> None:
    def ignore() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    code = "from signal import *; print([getsignal(n).name for n in (SIGHUP, SIGINT, SIGTERM)])"
    assert sleuth("-c", code, preexec_fn=ignore).stdout == "['SIG_IGN', 'SIG_IGN', 'SIG_DFL']\n"


def test_signal_mask_is_the_usual_one(place: Path) -> None:
    code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    assert sleuth("-c", code).stdout == bare("-c", code).stdout == "set()\n"


# Signals are answered lowest number first: once SIGTERM (15) came through, a SIGINT (2) would have come too.
COUNT_INTERRUPTS = """
import os, signal, subprocess, sys, time
got = []
def note(number, frame):
    got.append(signal.Signals(number).name)
    print(got, flush=True)
signal.signal(signal.SIGINT, note)
signal.signal(signal.SIGTERM, note)
if "group" in sys.argv:
    os.killpg(0, signal.SIGINT)
    subprocess.run(["kill", "-TERM", str(os.getppid())], check=True)
sys.stdout.write("ready\\n")  # in one piece, also when a signal comes in between
sys.stdout.flush()
while "SIGTERM" not in got:
    time.sleep(0.01)
"""


def test_what_the_program_sends_to_its_group_does_not_come_back(place: Path) -> None:
    done = sleuth("-c", COUNT_INTERRUPTS, "group", start_new_session=True)
    assert done.stdout.replace("ready\n", "") == "['SIGINT']\n['SIGINT', 'SIGTERM']\n"


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # pty.fork, and exec at once
def test_ctrl_c_on_the_terminal_arrives_once(place: Path) -> None:
    write(place / "prog.py", COUNT_INTERRUPTS)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(RUN[0], [*RUN, "prog.py"])
    read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    read_until(terminal, b"['SIGINT']")
    os.kill(pid, signal.SIGTERM)
    assert b"['SIGINT', 'SIGTERM']" in read_until(terminal, b"finished (exit 0)")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def read_until(terminal: int, mark: bytes) -> bytes:
    seen = b""
    while mark not in seen:
        seen += os.read(terminal, 4096)
    return seen


def test_the_process_group_is_shared(place: Path) -> None:
    code = "import os; print(os.getpgid(0) == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))"
    assert sleuth("-c", code).stdout == "True True\n"


# ---- what is refused, before there is a run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "there is no program 'nothing.py' in"),
        (["folder"], "'folder' is a folder with no __main__.py"),
        (["-m"], "-m needs a module"),
        (["--mode", "FULL", "prog.py"], "'FULL'"),
        (["--op-regex", "(", "prog.py"], "not a regular expression"),
        (["--tensor-dtypes", "float33", "prog.py"], "'float33'"),
        (["--circular-buffer-size", "many", "prog.py"], "'many' is not a valid integer"),
        (["--mdoe", "SHAPE", "prog.py"], "No such option"),
        (["--mode"], "'--mode' requires an argument"),
        (["--quiet", "--"], "Missing argument"),
        ([], "Missing argument"),
    ],
)
def test_refused(place: Path, arguments: list[str], said: str) -> None:
    (place / "folder").mkdir()
    write(place / "prog.py", "print('ran')")
    done = sleuth(*arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and not Path("sleuth_runs").exists()


# ---- the recorder


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
    assert settings == {"mode": "CURT_HEALTH", "op_regex": "Mat.*", "circular_buffer_size": None}


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
    write(fakes / "tensorsleuth/capture/inject.py", "def start(): raise OSError('no space')")
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
    for name in ("inject/sitecustomize.py", "capture/autostart.py"):
        write(tree / name, (SOURCES / "tensorsleuth" / name).read_text())
    (fakes / "tensorsleuth").rename(fakes / "recorder")
    for name in ("__init__.py", "capture/__init__.py", "capture/inject.py"):
        write(tree / name, (fakes / "recorder" / name).read_text())
    write(fakes / "sitecustomize.py", HIDE_INSTALLED)
    paths = f"{tree / 'inject'}{os.pathsep}{fakes}"
    environment = {"PYTHONPATH": paths, "SLEUTH_RUN": str(fakes), "SLEUTH_SETTINGS": "{}"}
    code = "import tensorflow, tensorsleuth as t, sys; print(t.__file__, [p for p in sys.path if 'tree' in p])"
    done = bare("-c", code, env=environment)
    assert (done.stdout, done.stderr) == (f"{tree / '__init__.py'} []\n", "")
    assert list(fakes.glob("p-*"))


# ---- what is said at the end


def test_closing_lines(fakes: Path) -> None:
    write(Path("train.py"), "import tensorflow")
    said = sleuth("train.py").stderr
    assert re.search(r"^ sleuth  train\.py finished \(exit 0\) in \d+\.\d s", said)
    assert "sleuth view" in said
    elsewhere = sleuth("--logdir", "else where", "train.py").stderr
    assert "sleuth view --logdir 'else where'" in elsewhere


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


# ---- how it crashes

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
