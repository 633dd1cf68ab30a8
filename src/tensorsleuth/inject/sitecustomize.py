"""Runs at the start of every Python under `sleuth run`: arms the recorder, and leaves no other trace.

Python imports `sitecustomize` before the program, from the first folder of PYTHONPATH that has one. Ours
stands in front, so it takes its folder off the path and gives way to the one that would have run without it.
Any Python that the program starts comes here, old ones too: hence the plain syntax.
"""

import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))

if os.environ.get("SLEUTH_RUN") and sys.version_info >= (3, 10):
    try:
        # Loaded by its path: the package itself is not imported before TensorFlow is.
        package = os.path.dirname(folder)
        source = os.path.join(package, "live", "startup", "autostart.py")
        autostart = type(sys)("_tensorsleuth_autostart")
        type(__spec__.loader)(autostart.__name__, source).exec_module(autostart)  # type: ignore
        autostart.arm(os.path.dirname(package))
    except Exception as error:
        sys.stderr.write("tensorsleuth: not recording: %r\n" % error)  # noqa: UP031

sys.path[:] = [path for path in sys.path if os.path.abspath(path) != folder]
ours = sys.modules.pop("sitecustomize", None)  # held, or Python 2 would empty this module
# Where there is no other, this raises what Python expects of a missing one.
import sitecustomize  # type: ignore  # noqa: E402, F401
