"""The places in a program that call eager ops, and the modes for the outputs there."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE, VARIANT
from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK, Selection
from tensorsleuth.recording.structure.name_scopes import NameScopes
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

# The op's id, the id and number of its outputs, a hash of its type, the mode for each dtype, and the number of
# arguments that are tensors; attributes follow them.
OpSite = tuple[int, int, int, int, bytes, int]

DTYPE_COUNT = 64
ALL_INPUTS = 255
_HANDLE_OPS = re.compile(
    "Dataset|Iterator|VarHandleOp"
)  # recorded, because they lead from batches and variables back to their lines


class OpSites:
    """Assigns an id to each pair of an op and its call stack."""

    def __init__(
        self,
        catalog: CatalogWriter,
        call_sites: CallSites,
        selection: Selection,
        name_scopes: NameScopes,
        first_use: Callable[[], None],
        new_place: Callable[[str, str], None],
    ) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._selection = selection
        self._scopes = name_scopes
        self._first_use = first_use  # to be called once the program has set up its devices
        self._new_place = new_place  # called for each with the op's type and scope
        self._modes: dict[str, bytes] = {}
        self._places: dict[tuple[Any, ...], OpSite] = {}
        self._site_of: dict[int, int] = {}
        self._kind_of: dict[int, str] = {}
        self._alive: dict[int, CodeType] = {}  # by address, since equal code objects may have two addresses

    def of_caller(self, kind: str, outputs: int, forward: int, depth: int = 1) -> OpSite:
        """Return the place of an op that the program is calling now."""
        self._keep_code_alive(depth + 1)
        return self.at_site(kind, self._sites.of_caller(depth + 1), outputs, forward, scope=self._scopes.eager)

    def at_site(
        self, kind: str, site: int, outputs: int, forward: int = 0, instance: int = -1, scope: str = ""
    ) -> OpSite:
        key = (kind, site, outputs, forward, instance, scope)
        known = self._places.get(key)
        if known is None:
            if not self._places:
                self._first_use()
            self._new_place(kind, scope)
            fields: dict[str, Any] = {"type": kind, "site": site, "forward": forward, "instance": instance}
            fields |= {"scope": scope} if scope else {}
            number, first = self._catalog.eager_op(fields, outputs)
            known = number, first, outputs, zlib.crc32(kind.encode()), self.modes_for(kind), _input_count(kind)
            self._places[key] = known
            self._site_of[number], self._kind_of[number] = site, kind
            if instance < 0:
                self._selection.note_eager_site(kind, first, outputs)
        return known

    def select(self, selection: Selection) -> None:
        """Use another selection from now on, and treat every place as new."""
        self._selection = selection
        self._modes.clear()
        self._places.clear()

    def site_of(self, op: int) -> int:
        """Return the call site of the op with that number."""
        return self._site_of.get(op, 0)

    def kind_of(self, op: int) -> str:
        """Return the type of the op with that number; empty if there is none."""
        return self._kind_of.get(op, "")

    def modes_for(self, kind: str) -> bytes:
        """Return the mode for an output of each dtype."""
        looks = self._modes.get(kind)
        if looks is None:
            wanted = [self._selection.mode_for(kind, dtype) for dtype in range(DTYPE_COUNT)]
            if _HANDLE_OPS.search(kind):
                wanted[RESOURCE] = wanted[VARIANT] = Mode.NO_TENSOR
            looks = self._modes[kind] = bytes(DO_NOT_LOOK if look is None else int(look) for look in wanted)
        return looks

    def _keep_code_alive(self, depth: int) -> None:
        """Keep the code objects of the stack alive. The native hook knows places by their addresses."""
        frame: FrameType | None = sys._getframe(depth + 1)
        while frame is not None:
            self._alive[id(frame.f_code)] = frame.f_code
            frame = frame.f_back


def _input_count(kind: str) -> int:
    definition = tf.op_definition(kind)
    return min(len(definition.input_arg), ALL_INPUTS) if definition is not None else ALL_INPUTS
