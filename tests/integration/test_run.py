"""`sleuth run` stands in for `python`: the program must not be able to tell. No TensorFlow needed here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.integration import started
from tests.integration.started import RUN, bare, meta, sleuth, write

from tensorsleuth.core.exit_status import signal_words

place = started.place  # a fixture

SHOW_SELF = """
import json, sys
print(json.dumps([sys.argv, __name__, __file__, sys.path, list(sys.flags), sys.orig_argv[1:],
                  "sitecustomize" in sys.modules, "tensorsleuth" in sys.modules]))
"""
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
    assert seen.stderr == expected.stderr * 2  # Python's message about a broken pipe, for sleuth and for the program


def test_stdin_is_the_programs_and_stdout_is_untouched(place: Path) -> None:
    program = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    sent = bytes(range(256)) * 1000
    done = subprocess.run([*RUN, "-c", program], input=sent, capture_output=True, timeout=240, check=True)
    assert done.stdout == sent


def test_open_files_are_inherited(place: Path) -> None:
    end, other = os.pipe()
    code = f"import os; os.write({other}, b'hello')"
    subprocess.run([*RUN, "-c", code], pass_fds=[other], check=True, timeout=240)
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
    assert f"the command {signal_words(number.name)} after" in done.stderr


def test_keyboard_interrupt_ends_as_python_does(place: Path) -> None:
    seen, expected = sleuth("--quiet", "-c", "raise KeyboardInterrupt"), bare("-c", "raise KeyboardInterrupt")
    assert (seen.returncode, seen.stderr) == (expected.returncode, expected.stderr) and seen.returncode == -2


# ---- refused, before there is a run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "there is no program 'nothing.py' in"),
        (["folder"], "'folder' is a folder without a __main__.py"),
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


# ---- when it has ended

BROKEN = {
    "closing cannot be imported": "sys.modules['tensorsleuth.cli.output.closing'] = None",
    "closing fails": "from tensorsleuth.cli.output import closing; closing.print_closing = lambda *_: 1 / 0",
    "interrupted": (
        "from tensorsleuth.cli.output import closing; closing.print_closing = lambda *_: os.kill(os.getpid(), 2)"
    ),
    "the end is not written": "from tensorsleuth.cli.program import oom; oom.memory_changes = lambda *_: 1 / 0",
}


@pytest.mark.parametrize("name", BROKEN)
def test_trouble_of_ours_leaves_the_exit_code(place: Path, name: str) -> None:
    write(place / "prog.py", "raise SystemExit(7)")
    code = started.SLEUTH[-1].replace("; from tens", f"; import os; {BROKEN[name]}; from tens", 1)
    done = subprocess.run([*started.SLEUTH[:-1], code, "run", "prog.py"], capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert " sleuth  cannot " in done.stderr and "The program's exit code is unchanged." in done.stderr
    assert "Traceback" not in done.stderr
