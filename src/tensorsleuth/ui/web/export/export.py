"""The page in one file that needs no server: script, style, and the answers for its first screens."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.ui.web.export.embedded_answers import embed_answers
from tensorsleuth.ui.web.export.local_client import LocalClient
from tensorsleuth.ui.web.page_files import INDEX, PageFile
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.server.replies import encode_json
from tensorsleuth.ui.web.server.run_cache import CachedRun

MAX_PAGE_BYTES = 5_000_000  # what people can attach to a bug report
CHARSET_TAG = '<meta charset="utf-8" />'
SCRIPT_TAG = re.compile(r'<script type="module"[^>]* src="\./([^"]+)"></script>')
STYLE_TAG = re.compile(r'<link rel="stylesheet"[^>]* href="\./([^"]+)">')


def export_page(run: Path, files: Mapping[str, PageFile], target: Path, vocabulary: Vocabulary | None = None) -> int:
    """Write the file; return its size in bytes."""
    local_client = LocalClient(
        CachedRun(OpenRun(run, vocabulary)), MAX_PAGE_BYTES - sum(len(file.body) for file in files.values())
    )
    embed_answers(local_client)
    page = inline_page(files, local_client.answers)
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise SleuthError(f"cannot write {target}: {error.strerror}. Name another file: --export FILE") from error
    return len(page.encode())


def inline_page(files: Mapping[str, PageFile], answers: Mapping[str, object]) -> str:
    """Return the built page with everything embedded. Its policy allows its one script and style by their hashes."""
    index = files[INDEX].body.decode()
    script, style = _file_of_tag(index, SCRIPT_TAG, files), _file_of_tag(index, STYLE_TAG, files)
    script = script.replace("</script", r"<\/script").replace("<!--", r"\x3c!--")
    policy = (
        f"default-src 'none'; script-src '{csp_digest(script)}'; style-src '{csp_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    tag = f'<meta http-equiv="content-security-policy" content="{html.escape(policy)}" />'
    index = index.replace(CHARSET_TAG, f"{CHARSET_TAG}\n    {tag}", 1)
    for pattern in (SCRIPT_TAG, STYLE_TAG):
        index = pattern.sub("", index)
    data = f'<script type="application/json" id="answers">{embeddable_json(answers)}</script>'
    index = index.replace("</head>", f"  <style>{style}</style>\n  </head>", 1)
    return index.replace("</body>", f'{data}\n    <script type="module">{script}</script>\n  </body>', 1)


def embeddable_json(answers: object) -> str:
    """Return JSON that cannot end its HTML element or begin a comment, whatever names a trace contains."""
    return encode_json(answers).decode("ascii").replace("</", r"<\/").replace("<!", r"\u003c!")


def csp_digest(text: str) -> str:
    """Return the hash by which a content security policy names a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _file_of_tag(index: str, pattern: re.Pattern[str], files: Mapping[str, PageFile]) -> str:
    """Return the text of the file that a tag of the page names, or an empty text without such a tag."""
    names = pattern.findall(index)
    if len(names) > 1:
        raise SleuthError(f"the page was built in {len(names)} parts; only one can be exported. Build it: make page")
    return files[names[0]].body.decode() if names else ""
