"""`sleuth view`: the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli import options
from tensorsleuth.show import terminal
from tensorsleuth.show.amounts import printable, size
from tensorsleuth.trace import rundir

if TYPE_CHECKING:
    from tensorsleuth.page.built import PageFile
    from tensorsleuth.page.safety import Guarding
    from tensorsleuth.page.shelf import Shelf

LOOPBACK = "127.0.0.1"


@click.command()
@click.argument("run", required=False)
@options.logdir
@click.option("--host", default=LOOPBACK, show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="0: any that is free.  [default: 6070, or the next free one]"
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option("--vocab", type=click.Path(path_type=Path), metavar="FILE", help="Tokens on the axes of attention.")
@click.option("--export", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write one HTML file.")
def command(
    run: str | None,
    logdir: Path,
    host: str,
    port: int | None,
    no_browser: bool,
    vocab: Path | None,
    export: Path | None,
) -> None:
    """Open the page: verdict, timeline, tensors, graph and source of a run, live while it runs.

    RUN is a name, the start of one, or a path; the latest when left out. The page opens with the cause on screen;
    it is served by this process until Ctrl-C, to this machine alone. With another --host it can be reached from
    elsewhere, by those who have the token in the printed address. --export writes the page with what it shows first
    into one file that needs no server, to attach to a bug report. --vocab takes a token a line, a vocab.json or a
    tokenizer.json.

    \b
    sleuth view
    sleuth view 20251115-2215 --port 8080
    sleuth view --host 0.0.0.0 --no-browser
    sleuth view --export page.html
    sleuth view --vocab vocab.txt
    """
    from tensorsleuth.page import built
    from tensorsleuth.tokens.vocabulary_file import read_vocabulary

    files = built.load()
    words = read_vocabulary(vocab) if vocab is not None else None
    waits = run is None and export is None and not rundir.list_runs(logdir)
    path = None if waits else rundir.find(logdir, run)
    if export is not None and path is not None:
        from tensorsleuth.page.export import export_page

        written = export_page(path, files, export, words)
        terminal.say(f"{printable(path.name)} is in {export} ({size(written)}): open it in any browser.")
        return
    if path is None:
        terminal.say(
            f"no run in {logdir.absolute()} yet: the page waits for the first. Make one: sleuth run program.py"
        )
    from tensorsleuth.page.shelf import Shelf

    _serve(path, Shelf(logdir if path is None else path.parent, vocabulary=words), files, host, port, no_browser)


def _serve(
    path: Path | None, shelf: Shelf, files: dict[str, PageFile], host: str, port: int | None, no_browser: bool
) -> None:
    from tensorsleuth.page import address
    from tensorsleuth.page.safety import guarding
    from tensorsleuth.page.server import Server, listen

    bound = listen(host, port)
    number = bound.getsockname()[1]
    guard = guarding(host, number)
    focus = {} if path is None else {"run": path.name, **address.cause_of(shelf.take(path.name))}
    _announce(address.address(host, number, guard, focus), address.forwarding(host, number), guard, no_browser)
    Server(shelf, files, guard).run(sockets=[bound])


def _announce(url: str, forwarding: str | None, guard: Guarding, no_browser: bool) -> None:
    from tensorsleuth.page.address import can_open_browser

    terminal.say(f"{url}   (Ctrl-C stops)")
    if guard.token:
        terminal.note(
            "         Whoever has this address can read the run: the token in it is a password, sent unencrypted."
        )
    elif forwarding and not can_open_browser():
        terminal.note(f"         From your own machine: {forwarding}   then open the address there.")
    if not no_browser and can_open_browser():
        _open_browser(url)


def _open_browser(url: str) -> None:
    """In a thread: the browser may not come back before the page does, which this process has yet to serve."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
