"""Access control. This machine or a holder of the token may ask, but no page of another site in the same browser."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tensorsleuth.ui.web.server.peer_uid import is_own
from tensorsleuth.ui.web.server.replies import error_reply

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
READ_METHODS = ("GET", "HEAD")
COMMAND_PATH = re.compile(r"/api/runs/[^/]+/debug")  # the only address that accepts POST
OPEN_AGAIN_HINT = "Open the address that sleuth view printed in its terminal."
HOST_HINT = "Use the address that sleuth view printed, or start it with --host and the name that you want to use."

FORWARD_HINT = "Start your own: sleuth view. From another machine, forward its port with ssh -L (docs/page.md)."


@dataclass(frozen=True)
class AccessPolicy:
    """The allowed Host headers, and the token if one is needed."""

    hosts: frozenset[str]
    token: str | None
    cookie: str

    def knows_host(self, header: str) -> bool:
        """Return whether the Host header is an address or one of our names, not a foreign name for this server."""
        host = _host(header)
        return host in self.hosts or _is_address(host)

    def is_token(self, given: str) -> bool:
        return self.token is None or hmac.compare_digest(given.encode(), self.token.encode())


def make_access_policy(host: str, port: int) -> AccessPolicy:
    """Return the policy: on loopback only its own names, elsewhere a new token and this machine's names."""
    names = {"localhost", host.lower()}
    if is_loopback(host):
        return AccessPolicy(frozenset(names), None, "")
    names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return AccessPolicy(frozenset(names), secrets.token_urlsafe(24), f"sleuth-{port}")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address. All addresses of a name must be local."""
    try:
        found = {item[4][0] for item in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_loopback for address in found)


class AccessControl:
    """The app for permitted requests. Every answer has headers that keep hostile text from doing anything."""

    def __init__(self, app: ASGIApp, access_policy: AccessPolicy) -> None:
        self.app = app
        self.policy = access_policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope)
        await (refused or self.app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        commands = scope["method"] == "POST" and COMMAND_PATH.fullmatch(scope["path"])
        if scope["method"] not in READ_METHODS and not commands:
            return error_reply(
                405, f"{scope['method']} is not allowed: the page only reads.", None, allow=", ".join(READ_METHODS)
            )
        if not self.policy.knows_host(headers.get("host", "")):
            return error_reply(403, "The address in the browser does not belong to this server.", HOST_HINT)
        if _is_of_another_site(scope, headers):
            return error_reply(403, "A page of another site may not use this server.", OPEN_AGAIN_HINT)
        refused = self._token_refusal(scope, headers)
        return _command_refusal(scope, headers) if refused is None and commands else refused

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Admit with `?token=` once: the token becomes a cookie and leaves the address."""
        if self.policy.token is None or self.policy.is_token(_cookies(headers).get(self.policy.cookie, "")):
            return None
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for key, value in asked if key == "token"), None)
        if given is None or not self.policy.is_token(given):
            return error_reply(403, "This server requires its token.", OPEN_AGAIN_HINT)
        rest = urlencode([(key, value) for key, value in asked if key != "token"])
        answer = RedirectResponse(
            f"./?{rest}" if rest else "./", status_code=303, headers={"cache-control": "no-store"}
        )
        answer.set_cookie(self.policy.cookie, self.policy.token, httponly=True, samesite="lax")
        return answer


def _is_of_another_site(scope: Scope, headers: Headers) -> bool:
    """Return whether the browser reports another site. A link to the page itself may come from anywhere."""
    origin = headers.get("origin")
    if origin is not None and re.sub(r"^https?://", "", origin) != headers.get("host"):
        return True
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    return not (scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate")


def _command_refusal(scope: Scope, headers: Headers) -> Response | None:
    """Refuse commands of others: they run in the program, so neither a token nor an account here is enough."""
    if headers.get("origin") is None:
        return error_reply(403, "The command has no Origin header, so its page is unknown.", OPEN_AGAIN_HINT)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return error_reply(415, "A command must be sent as application/json.", None)
    if not is_own(scope.get("client"), scope.get("server")):
        return error_reply(
            403, "Only the user who started sleuth view, on this machine, may drive the program.", FORWARD_HINT
        )
    return None


def _cookies(headers: Headers) -> dict[str, str]:
    pairs = (part.partition("=") for header in headers.getlist("cookie") for part in header.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _host(header: str) -> str:
    """Return the host of a Host header without its port, which differs behind a forwarded port."""
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(?::\d{1,5})?", header)
    return found.group(1).strip("[]").lower() if found else ""


def _is_address(host: str) -> bool:
    """Return whether it is an address: unlike a name, nobody else can make it point here."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
