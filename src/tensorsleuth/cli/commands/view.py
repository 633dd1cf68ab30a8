"""`sleuth view`: opens the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.core.formatting import printable, size
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

if TYPE_CHECKING:
    from tensorsleuth.ui.web.page_files import PageFile
    from tensorsleuth.ui.web.server.access_control import AccessPolicy
    from tensorsleuth.ui.web.server.run_cache import RunCache

LOOPBACK = "127.0.0.1"


@click.command()
@click.argument("run", required=False)
@common.logdir
@click.option("--host", default=LOOPBACK, show_default=True, metavar="ADDRESS", help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free port.  [default: 6070, or the next free one]")
@click.option("--no-browser", is_flag=True, help="Print the address, but open no browser.")
@click.option(
    "--vocab", type=click.Path(path_type=Path), metavar="FILE", help="Label the axes of attention with these tokens."
)
@click.option(
    "--export", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write the page as one HTML file."
)
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

    RUN is a name, the start of a name, or a path; by default the latest run. The page opens at the cause. This process
    serves it until Ctrl-C, to this machine alone. With another --host, others can open it if they have the token in
    the printed address. --export writes the first screens of the page into one file that needs no server, to attach
    to a bug report. --vocab takes a text file with a token on each line, a vocab.json or a tokenizer.json.

    \b
    sleuth view
    sleuth view 20251115-2215 --port 8080
    sleuth view --host 0.0.0.0 --no-browser
    sleuth view --export page.html
    sleuth view --vocab vocab.txt
    """
    from tensorsleuth.data.tokens.vocabulary_file import read_vocabulary
    from tensorsleuth.ui.web import page_files

    files = page_files.load()
    words = read_vocabulary(vocab) if vocab is not None else None
    waits = run is None and export is None and not run_folder.list_runs(logdir)
    path = None if waits else run_folder.find(logdir, run)
    if export is not None and path is not None:
        from tensorsleuth.ui.web.export.export import export_page

        written = export_page(path, files, export, words)
        console.say(f"{printable(path.name)} is in {export} ({size(written)}): open it in any browser.")
        return
    if path is None:
        console.say(
            f"no run in {logdir.absolute()} yet. The page waits for the first. Record one: sleuth run program.py"
        )
    from tensorsleuth.ui.web.server.run_cache import RunCache

    _serve(path, RunCache(logdir if path is None else path.parent, vocabulary=words), files, host, port, no_browser)


def _serve(
    path: Path | None, run_cache: RunCache, files: dict[str, PageFile], host: str, port: int | None, no_browser: bool
) -> None:
    from tensorsleuth.ui.web.server import address
    from tensorsleuth.ui.web.server.access_control import make_access_policy
    from tensorsleuth.ui.web.server.server import PageServer, listen

    bound = listen(host, port)
    number = bound.getsockname()[1]
    guard = make_access_policy(host, number)
    focus = {} if path is None else {"run": path.name, **address.first_cause(run_cache.get(path.name))}
    _announce(
        address.page_address(host, number, guard, focus), address.forwarding_command(host, number), guard, no_browser
    )
    PageServer(run_cache, files, guard).run(sockets=[bound])


def _announce(url: str, forwarding: str | None, guard: AccessPolicy, no_browser: bool) -> None:
    from tensorsleuth.ui.web.server.address import can_open_browser

    console.say(f"{url}   (Ctrl-C stops)")
    if guard.token:
        console.note("         Anyone with this address can read the run. Its token is a password, sent unencrypted.")
    elif forwarding and not can_open_browser():
        console.note(f"         From your own machine: {forwarding}   then open that address there.")
    if not no_browser and can_open_browser():
        _open_browser(url)


def _open_browser(url: str) -> None:
    """Open the browser in a thread: it may wait for the page, which this process has not served yet."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
