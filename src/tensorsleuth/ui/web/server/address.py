"""The address of the page, with the cause of the first finding in focus."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlencode

from tensorsleuth.ui.web.server.access_control import AccessPolicy
from tensorsleuth.ui.web.server.run_cache import CachedRun, question_for_path

SECONDS_TO_VERDICT = 3.0  # a slower verdict is left out of the printed address; the page requests it itself


def page_address(host: str, port: int, access_policy: AccessPolicy, parts: Mapping[str, str]) -> str:
    """Return the address to open: http://127.0.0.1:6070/#run=…&tensor=0.17"""
    token = f"?{urlencode({'token': access_policy.token})}" if access_policy.token else ""
    focus = f"#{urlencode(parts)}" if parts else ""
    return f"http://{_url_host(host)}:{port}/{token}{focus}"


def first_cause(cached_run: CachedRun) -> dict[str, str]:
    """Return the first finding's tensor as the page's address has it, or nothing if that takes too long."""
    found: dict[str, str] = {}

    def ask() -> None:
        findings = cached_run.ask(question_for_path("verdict"), {})["findings"]
        if findings and findings[0]["tensor"]:
            found["tensor"] = findings[0]["tensor"]

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(SECONDS_TO_VERDICT)
    return dict(found)


def forwarding_command(host: str, port: int, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the ssh command that forwards the port, if the user sits at another machine."""
    connection = environment.get("SSH_CONNECTION", "").split()
    if not connection:
        return None
    here = connection[2] if len(connection) > 2 else socket.gethostname()
    user = environment.get("USER")
    return f"ssh -N -L {port}:{_url_host(host)}:{port} {f'{user}@' if user else ''}{here}"


def can_open_browser(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this machine has a screen, or the user has named a browser."""
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _url_host(host: str) -> str:
    """Return the host as in an address. All addresses of this machine become its name."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return host or socket.gethostname()
    if number.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if number.version == 6 else host
