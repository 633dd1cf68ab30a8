"""Long names in little room: common scopes are written once, and the rest is cut so that rows differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorsleuth.core.formatting import printable

INDENT = 2  # of a name under its heading


@dataclass(frozen=True)
class FittedNames:
    """Names that fit; `before` and `after` are the scopes that were left out of all."""

    shown: tuple[str, ...]
    before: str = ""
    after: str = ""

    @property
    def left_out(self) -> str:
        """Return a sentence on the scopes left out of all names, or an empty text if they are complete."""
        before = f"begin with {self.before}/" if self.before else ""
        after = f"end with /{self.after}" if self.after else ""
        return f"All names {' and '.join(part for part in (before, after) if part)}" if before or after else ""


@dataclass(frozen=True)
class HeadedName:
    """A name in a table, without the scopes that it shares with its neighbours."""

    name: str
    heading: str | None = None  # written above the name


def fit_names(names: Sequence[str], room: int) -> FittedNames:
    """Fit each name into one line: drop common scopes at the start, then at the end, then cut in the middle."""
    whole = [printable(name) for name in names]
    before = after = ""
    if not _all_fit(whole, room):
        before, whole = _without_front(whole)
    if not _all_fit(whole, room):
        after, whole = _without_end(whole)
    return FittedNames(tuple(cut_distinct(whole, room)), before, after)


def group_names(names: Sequence[str], room: int) -> tuple[list[HeadedName], str]:
    """Return names for a long table, with headings if they do not fit, and the scopes left out of all names."""
    whole = [printable(name) for name in names]
    if _all_fit(whole, room):
        return [HeadedName(name) for name in whole], ""
    before, whole = _without_front(whole)
    groups = _headings(whole, room)
    rest = [name[len(group) + 1 :] if group else name for name, group in zip(whole, groups, strict=True)]
    shown = [""] * len(rest)
    for group in set(groups):
        at = [place for place, one in enumerate(groups) if one == group]
        cut = cut_distinct([rest[place] for place in at], room - INDENT if group else room)
        for place, name in zip(at, cut, strict=True):
            shown[place] = f"{'':{INDENT}}{name}" if group else name
    above = [group if group and group != last else None for last, group in zip(["", *groups], groups, strict=False)]
    return [HeadedName(name, heading) for name, heading in zip(shown, above, strict=True)], before


def cut_distinct(names: Sequence[str], room: int) -> list[str]:
    """Cut names in the middle, at the place that leaves most of them different."""
    if _all_fit(names, room):
        return list(names)
    places = sorted(range(room), key=lambda place: abs(place - room // 2))
    place = max(places, key=lambda head: len({cut_middle(name, room, head) for name in names}))
    return [cut_middle(name, room, place) for name in names]


def cut_middle(name: str, room: int, head: int | None = None) -> str:
    """Cut a name in the middle, as in `block_1/mul…ention_1`."""
    if len(name) <= room:
        return name
    head = room // 2 if head is None else head
    return f"{name[:head]}…{name[len(name) - (room - head - 1) :]}"


def _all_fit(names: Sequence[str], room: int) -> bool:
    return all(len(name) <= room for name in names)


def _without_front(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the scopes with which all names begin, and the rest of each name, which is never empty."""
    split = [name.split("/") for name in names]
    many = _shared([one[:-1] for one in split])
    return "/".join(split[0][:many]), ["/".join(one[many:]) for one in split]


def _without_end(names: Sequence[str]) -> tuple[str, list[str]]:
    split = [name.split("/") for name in names]
    many = _shared([one[:0:-1] for one in split])
    end = "/".join(split[0][len(split[0]) - many :])
    return end, ["/".join(one[: len(one) - many]) for one in split]


def _shared(scopes: Sequence[Sequence[str]]) -> int:
    """Return the number of leading parts that all names share; 0 for a single name."""
    if len(scopes) < 2:
        return 0
    return next((at for at, same in enumerate(zip(*scopes, strict=False)) if len(set(same)) > 1), min(map(len, scopes)))


def _headings(names: Sequence[str], room: int) -> list[str]:
    """Return the scopes to write above each name: as few as let the rest fit, plus scopes shared with neighbours."""
    needed = {_heading(name, room) for name in names} - {""}
    within = [[heading for heading in needed if name.startswith(f"{heading}/")] for name in names]
    return [max(one, key=len, default="") for one in within]


def _heading(name: str, room: int) -> str:
    if len(name) <= room:
        return ""
    scopes = name.split("/")
    fewest = (at for at in range(1, len(scopes)) if len("/".join(scopes[at:])) <= room - INDENT)
    return "/".join(scopes[: next(fewest, len(scopes) - 1)])
