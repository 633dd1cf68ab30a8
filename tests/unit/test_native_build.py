"""The options that the native library is compiled with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tensorsleuth.native import build

WARNED = "int ignored(int unused) { return 0; }\n"  # by -Wextra, not by -Wall


@pytest.fixture
def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("needs g++")
    return found


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one source that a compiler warns of, in place of the library's."""
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "warned.cc").write_text(WARNED)
    monkeypatch.setattr(build, "SOURCES", folder)
    monkeypatch.delenv(build.WERROR, raising=False)
    return folder


def test_a_stranger_with_another_compiler_is_warned(
    compiler: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (compiled,) = build.compile_sources(compiler, tmp_path)
    assert compiled.exists()
    assert "-Wunused-parameter" in capfd.readouterr().err


def test_our_own_builds_fail(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.WERROR, "1")
    with pytest.raises(build.BuildError, match="-Werror=unused-parameter"):
        build.compile_sources(compiler, tmp_path)
