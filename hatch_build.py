"""Puts the compiled native library into the wheel, and the platform into the wheel's name."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "src/tensorsleuth/native"
REQUIRE = "SLEUTH_REQUIRE_NATIVE"  # set by `make wheel`: what is published has the library


class NativeLibraryHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        native = load_builder(Path(self.root, NATIVE, "build.py"))
        try:
            library = native.build(Path(self.root, NATIVE, "libsleuth.so"))
        except native.BuildError as error:
            if os.environ.get(REQUIRE):
                raise
            self.app.display_warning(f"{error}\nGoing on without it: recording works, but is slower.")
            return
        # Calls TensorFlow's C ABI and nothing of Python's: one wheel for every Python 3 of this platform.
        build_data["tag"] = f"py3-none-{platform_tag()}"
        build_data["pure_python"] = False
        for made in (library, library.with_name(native.LOOK)):
            build_data["artifacts"].append(made.relative_to(self.root).as_posix())


def load_builder(path: Path) -> ModuleType:
    """`native/build.py` on its own: the package around it may not be importable yet."""
    spec = importlib.util.spec_from_file_location("build_native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
