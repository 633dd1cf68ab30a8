"""The built page is small, whole, and loads nothing from elsewhere."""

from __future__ import annotations

import gzip
import re

import pytest

from tensorsleuth.ui.web import page_files

MOST = 400_000  # bytes, packed

built = (page_files.STATIC / "index.html").exists()
pytestmark = pytest.mark.skipif(not built, reason="the page is not built: make page")


def test_the_whole_page_is_small() -> None:
    packed = {name: len(gzip.compress(file.body)) for name, file in page_files.load().items()}
    assert sum(packed.values()) <= MOST, packed


def test_it_is_one_script_and_one_style() -> None:
    index = page_files.load()["index.html"].body.decode()
    assert len(re.findall("<script", index)) == 1 and len(re.findall('rel="stylesheet"', index)) == 1
    assert "modulepreload" not in index, "an exported page is one file"


def test_it_loads_nothing_from_elsewhere() -> None:
    for name, file in page_files.load().items():
        text = file.body.decode()
        found = re.findall(r"""(?:src|href)=["']?https?://|url\(["']?https?://|@import|import\(""", text)
        assert not found, (name, found)


def test_it_has_no_inline_style_or_script_that_the_policy_would_refuse() -> None:
    index = page_files.load()["index.html"].body.decode()
    assert " style=" not in index and "<style" not in index and not re.findall(r"<script(?![^>]* src=)", index)
