"""Puts the compiled native library and the built page into the wheel, and the platform into the wheel's name."""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "src/tensorsleuth/native"
PAGE = "src/tensorsleuth/ui/web/static"
# Set by `make wheel`: what is published has both.
REQUIRE = "SLEUTH_REQUIRE_NATIVE"
REQUIRE_PAGE = "SLEUTH_REQUIRE_PAGE"


class NativeLibraryHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":  # there, `make page` builds it in place
            self._add_page(build_data)
        native = load_module(Path(self.root, NATIVE, "build.py"))
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

    def _add_page(self, build_data: dict[str, Any]) -> None:
        page = load_module(Path(self.root, "web", "build.py"))
        try:
            page.build()
        except page.BuildError as error:
            if os.environ.get(REQUIRE_PAGE):
                raise
            without = (
                "with the page as it was built before" if page.is_built() else "without it: `sleuth view` will not work"
            )
            self.app.display_warning(f"{error}\nGoing on {without}.")
        build_data["artifacts"].append(f"{PAGE}/**")


def load_module(path: Path) -> ModuleType:
    """A file on its own: the package around it may not be importable yet."""
    spec = importlib.util.spec_from_file_location(f"build_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
