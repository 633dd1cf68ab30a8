"""Compiles `src/**/*.cc` into `libsleuth.so`. Run by the wheel's build hook, and by hand as a script.

Neither TensorFlow nor Python is needed: the few functions of TensorFlow's C ABI that are called are
declared in the sources, and found at load time in the `libtensorflow_framework.so.2` of the program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
LIBRARY = HERE / "libsleuth.so"
LOOK = "libsleuth_look.so"  # beside it: what looks at values, for where there is no TensorFlow
LOOK_SOURCES = ("kernels/health*.cc", "kernels/rows_look.cc")
TENSORFLOW = "libtensorflow_framework.so.2"

COMPILE_OPTIONS = [
    "-O3",
    "-fPIC",
    "-std=c++17",
    "-pthread",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-Wall",
    "-Wextra",
    f"-I{SOURCES}",
]
WERROR = "SLEUTH_WERROR"  # set by the Makefile; another compiler's new warning must not break somebody's `pip install`
LINK_OPTIONS = ["-shared", "-static-libstdc++", "-static-libgcc", "-Wl,--no-as-needed"]
# A symbol that this TensorFlow lacks shows when the library is loaded, not in the middle of training.
LINK_OPTIONS += ["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"]
# The C++ runtime is linked in and, as all else, kept private, so that it cannot meet TensorFlow's.
EXPORTS = "{ global: sleuth_*; TF_InitGraph; local: *; };"
LOOK_EXPORTS = "{ global: sleuth_*; local: *; };"


class BuildError(RuntimeError):
    """The native library could not be built."""


def build(output: Path = LIBRARY) -> Path:
    """Compile the native library to `output`, unless it is newer than all it is made from."""
    newest = newest_source()
    look = output.with_name(LOOK)
    if any(not made.exists() or made.stat().st_mtime_ns < newest for made in (output, look)):
        compiler = find_compiler()
        with tempfile.TemporaryDirectory(dir=output.parent, prefix=".build-") as scratch:
            objects = compile_sources(compiler, Path(scratch))
            libraries = {link(compiler, Path(scratch), objects): output, link_look(compiler, Path(scratch)): look}
            for library, target in libraries.items():
                os.utime(library, ns=(newest, newest))  # older than what is edited while it compiles
                library.replace(target)  # in one move: a process that has the old one mapped keeps it
    return output


def newest_source() -> int:
    """When the sources, or this file with the options, were last changed."""
    made_from = [Path(__file__), *SOURCES.rglob("*.cc"), *SOURCES.rglob("*.h")]
    return max(path.stat().st_mtime_ns for path in made_from)


def find_compiler() -> str:
    """The path of `$CXX`, or of g++."""
    name = os.environ.get("CXX", "g++")
    path = shutil.which(name)
    if path is None:
        raise BuildError(
            f"the native library needs a C++ compiler, and {name} is not on PATH.\n"
            "Install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++), "
            "or name yours in CXX, and try again."
        )
    return path


def compile_sources(compiler: str, scratch: Path) -> list[Path]:
    """One object a source, as many at a time as there are cores."""
    sources = sorted(SOURCES.rglob("*.cc"))
    if not sources:
        raise BuildError(f"no sources of the native library in {SOURCES}: the package is incomplete.")
    objects = [scratch / source.with_suffix(".o").name for source in sources]
    flags = compile_flags()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda pair: run([compiler, *flags, "-c", pair[0], "-o", pair[1]]), zip(sources, objects)))
    return objects


def compile_flags() -> list[str]:
    """The options of every source; where `$SLEUTH_WERROR` is set, a warning is an error."""
    return [*COMPILE_OPTIONS, "-Werror"] if os.environ.get(WERROR) else COMPILE_OPTIONS


def link(compiler: str, scratch: Path, objects: list[Path]) -> Path:
    """Link against an empty library of TensorFlow's name, so that the linker writes that name into ours."""
    stub, exports, library = scratch / TENSORFLOW, scratch / "exports.map", scratch / "libsleuth.so"
    run([compiler, "-shared", "-nostdlib", f"-Wl,-soname,{TENSORFLOW}", "-o", stub, "-x", "c++", os.devnull])
    exports.write_text(EXPORTS)
    run([compiler, *LINK_OPTIONS, *output_options(library, exports), *objects, stub])
    return library


def link_look(compiler: str, scratch: Path) -> Path:
    """Link the few objects that need neither TensorFlow nor Python."""
    library, exports = scratch / LOOK, scratch / "look_exports.map"
    sources = [source for pattern in LOOK_SOURCES for source in sorted(SOURCES.glob(pattern))]
    objects = [scratch / source.with_suffix(".o").name for source in sources]
    exports.write_text(LOOK_EXPORTS)
    run([compiler, *LINK_OPTIONS, *output_options(library, exports), *objects])
    return library


def output_options(library: Path, exports: Path) -> list[str | Path]:
    return [f"-Wl,-soname,{library.name}", f"-Wl,--version-script={exports}", "-o", library]


def run(command: list[str | Path]) -> None:
    """Run the compiler; pass on its warnings, or fail with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} could not compile the native library:\n{done.stderr}")
    sys.stderr.write(done.stderr)


if __name__ == "__main__":
    try:
        print(build(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else LIBRARY))
    except BuildError as error:
        sys.exit(f"error: {error}")
