"""Check a site that was built: `python tools/check_site.py build/site`.

Each relative link leads to a file of the site, and to a place in it where it names one. No page takes a script, a style
or a picture from another host, so the site can be read without a network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASSETS = {("script", "src"), ("link", "href"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("object", "data")}
NOT_A_PAGE = "404.html"  # a server may show it at any address


class Page(HTMLParser):
    """The places in a page, and where its links and its assets lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.assets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag, name) == ("a", "name"):
                self.places.add(value or "")
            elif value is not None and (tag, name) in ASSETS:
                self.assets.append(value)
            elif value is not None and (tag, name) == ("a", "href"):
                self.links.append(value)


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each link that leads nowhere, and for each asset of another host."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html")) if path.name != NOT_A_PAGE}
    if not pages:
        yield f"{site} has no pages"
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: takes {asset} from another host" for asset in page.assets if urlsplit(asset).netloc)
        for link in [*page.links, *page.assets]:
            if not _is_elsewhere(link) and not _leads_somewhere(link, path, pages):
                yield f"{name}: {link} leads nowhere"


def _is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).netloc) or urlsplit(link).scheme in ("mailto", "data", "javascript")


def _leads_somewhere(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    target, place = urlsplit(link).path, unquote(urlsplit(link).fragment)
    file = (path.parent / unquote(target)).resolve() if target else path
    file = file / "index.html" if file.is_dir() else file
    return file.exists() and (not place or file not in pages or place in pages[file].places)


def main(site: Path) -> int:
    """Return 1 where something is wrong, else 0."""
    found = list(problems(site.resolve()))
    print("\n".join(found) if found else f"{site}/index.html: every link leads somewhere, and all assets are its own")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
