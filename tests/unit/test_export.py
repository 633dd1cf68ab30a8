"""The exported page: one file, bounded, with what the page asks first; no word of a trace gets out of its element."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit import hostile

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.export import export, local_client
from tensorsleuth.ui.web.export.embedded_answers import embed_answers
from tensorsleuth.ui.web.page_files import PageFile
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.server.run_cache import CachedRun

INDEX = b"""<!doctype html>
<html>
  <head>
    <meta charset="utf-8" />
    <script type="module" crossorigin src="./assets/index-a.js"></script>
    <link rel="stylesheet" crossorigin href="./assets/index-b.css">
  </head>
  <body>
    <div id="page"></div>
  </body>
</html>
"""
FILES = {
    "index.html": PageFile(INDEX, "text/html"),
    "assets/index-a.js": PageFile(rb'let a = "</script><!-- \u2028";', "text/javascript"),
    "assets/index-b.css": PageFile(b"p { color: red }", "text/css"),
}


class Read(HTMLParser):
    """A document as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._open.append(f"{tag}#{dict(attributes).get('id', '')}")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inside[self._open[-1]] = self.inside.get(self._open[-1], "") + data


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return hostile.write(tmp_path / "runs" / "a run~*'", tmp_path)


def exported(run: Path, target: Path) -> tuple[str, Read]:
    export.export_page(run, FILES, target)
    text = target.read_text(encoding="utf-8")
    return text, Read(text)


def answers(read: Read) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read.inside["script#answers"])
    return found


def test_everything_is_inside(run: Path, tmp_path: Path) -> None:
    _, read = exported(run, tmp_path / "page.html")
    assert [tag for tag, _ in read.tags if tag in ("script", "style", "link")] == ["style", "script", "script"]
    assert not [given for _, given in read.tags if "src" in given or "href" in given]
    assert read.inside["style#"] == "p { color: red }"


def test_the_policy_lets_nothing_run_but_the_page_itself(run: Path, tmp_path: Path) -> None:
    _, read = exported(run, tmp_path / "page.html")
    policy = next(given["content"] for tag, given in read.tags if given.get("http-equiv") == "content-security-policy")
    assert policy is not None and "unsafe" not in policy and "default-src 'none'" in policy
    for element, directive in (("script#", "script-src"), ("style#", "style-src")):
        digest = base64.b64encode(hashlib.sha256(read.inside[element].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    place = [given.get("http-equiv") for _, given in read.tags].index("content-security-policy")
    assert {tag for tag, _ in read.tags[:place]} <= {"html", "head", "meta"}, "it stands before all that it is about"


def test_no_word_of_the_trace_leaves_its_element(run: Path, tmp_path: Path) -> None:
    text, read = exported(run, tmp_path / "page.html")
    assert [tag for tag, _ in read.tags].count("script") == 2 and "img" not in [tag for tag, _ in read.tags]
    assert text.count("</script>") == 2 and "<!--" not in text
    names = [row["name"] for row in answers(read)["api/runs/a%20run~*'/tensors?begin=0&end=100"]["items"]]
    assert any(hostile.SCRIPT in name for name in names), "and arrives as it was"


def test_the_first_screens_and_the_findings_are_taken_along(run: Path, tmp_path: Path) -> None:
    found = answers(exported(run, tmp_path / "page.html")[1])
    base = "api/runs/a%20run~*'"
    (finding,) = found[f"{base}/verdict"]["findings"]
    for path in ("", "/timeline?bins=1200", "/scalars", "/alerts?begin=0&end=1", "/tensors?begin=0&end=100"):
        assert "error" not in found[base + path], path
    for tensor in [finding["tensor"], *(piece["tensor"] for piece in finding["evidence"])]:
        assert found[f"{base}/tensors/{tensor}"]["id"] == tensor
        assert found[f"{base}/tensors/{tensor}/history?points=400"]["total"]
        assert found[f"{base}/graph?down=2&id={tensor}&up=2"]["nodes"]
        assert found[f"{base}/sources/{finding['place']['file']}?at={tensor}"]["lines"]
    assert [item["name"] for item in found["api/runs?begin=0&end=200"]["items"]] == ["a run~*'"], "no other run"


@pytest.mark.parametrize(
    ("ids", "opens"), [(["0.3", "0.7"], ["0.7"]), ([], [])]
)  # as the page does: web/src/state/first.ts
def test_a_healthy_run_takes_its_loss_along(ids: list[str], opens: list[str]) -> None:
    told = {"verdict": {"findings": []}, "scalars": {"items": [{"op": "0.2"}]}, "scalars/0.2": {"ids": ids}}
    asked: list[str] = []

    class Canned:
        room = 0

        def __call__(self, path: str, **parameters: Any) -> Any:
            asked.append(path)
            return told.get(path, {"files": [], "items": []})

        def keep(self, path: str, answer: Any) -> None: ...

    embed_answers(cast(local_client.LocalClient, Canned()))
    assert {path for path in asked if re.fullmatch(r"tensors/[\d.]+", path)} == {f"tensors/{one}" for one in opens}


def test_it_is_bounded(run: Path) -> None:
    small = local_client.LocalClient(CachedRun(OpenRun(run)), 3000)
    embed_answers(small)
    assert small.left_out and len(json.dumps(small.answers)) < 6000


def test_what_the_run_refuses_is_taken_along_as_such(run: Path) -> None:
    asked = local_client.LocalClient(CachedRun(OpenRun(run)), 10_000)
    assert asked("tensors/9.9") == {}
    (kept,) = asked.answers.values()
    assert set(kept["error"]) == {"what", "next"}


def test_a_page_in_several_parts_cannot_be_exported(run: Path) -> None:
    parts = INDEX.replace(b"</head>", b'<script type="module" src="./assets/index-a.js"></script></head>')
    with pytest.raises(SleuthError, match="2 parts"):
        export.inline_page({**FILES, "index.html": PageFile(parts, "text/html")}, {})


def test_a_file_that_cannot_be_written_is_told(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SleuthError, match=r"cannot write .*Name another file"):
        export.export_page(run, FILES, tmp_path / "no" / "page.html")


def test_addresses_are_those_of_javascript() -> None:
    assert local_client.query_string({"b": "a b~*'é", "a": 0, "none": None, "empty": ""}) == "?a=0&b=a+b%7E*%27%C3%A9"
    assert local_client.address_of("a/b~ é", "tensors", {}) == "api/runs/a%2Fb~%20%C3%A9/tensors"
    assert re.fullmatch(r"sha256-[A-Za-z0-9+/]{43}=", export.csp_digest("x"))
