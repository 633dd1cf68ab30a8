"""CHANGELOG.md is as Keep a Changelog has it: releases with their dates, newest first, short lines."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from tensorsleuth import __version__

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def test_releases_have_a_version_and_a_date_newest_first() -> None:
    first, *releases = re.findall(r"^## (.+)$", TEXT, re.M)
    assert first == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\] - (\d{4}-\d\d-\d\d)", release) for release in releases]
    dated = [(tuple(map(int, one.groups()[:3])), date.fromisoformat(one[4])) for one in found if one is not None]
    assert len(dated) == len(releases) and dated == sorted(dated, reverse=True)
    assert dated[0][0] <= tuple(map(int, re.findall(r"\d+", __version__)[:3])), "a release that the package never had"


def test_entries_stand_in_groups_and_lines_are_short() -> None:
    for release in re.split(r"^## ", TEXT, flags=re.M)[1:]:
        groups = re.findall(r"^### (.+)$", release, re.M)
        assert groups and groups == sorted(set(groups), key=GROUPS.index)
        assert "\n- " not in release.partition("\n### ")[0]
    assert [line for line in TEXT.splitlines() if len(line) > 120] == []
