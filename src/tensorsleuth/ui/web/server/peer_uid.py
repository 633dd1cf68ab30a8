"""The owner of a connection from this machine: Linux knows which user opened it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"
_ROW = re.compile(r"\s*\d+: ([0-9A-F]+:[0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) (\w\w) \S+ \S+ \S+ +(\d+) +\d+ (\d+)")

End = tuple[IPv4Address | IPv6Address, int]


def is_own(client: tuple[str, int] | None, server: tuple[str, int] | None) -> bool:
    """Return whether this user opened the connection on this machine, False if that is unknown."""
    if client is None or server is None:
        return False
    try:
        ends = _end(*client), _end(*server)
    except ValueError:  # a name, as in tests
        return False
    return any((here, there) == ends and user == os.geteuid() for here, there, user in _connections())


def _connections() -> Iterator[tuple[End, End, int]]:
    """Yield both ends and the owner of each open connection. A closed one has no owner."""
    for table in TABLES:
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in filter(None, map(_ROW.match, rows)):
            here, there, state, user, inode = row.groups()
            if state == _ESTABLISHED and inode != "0":
                yield _read(here), _read(there), int(user)


def _end(host: str, port: int) -> End:
    return _plain(ip_address(host.partition("%")[0])), port


def _read(text: str) -> End:
    """Parse `0100007F:17B6`: words of four bytes, each with its last byte first."""
    digits, _, port = text.partition(":")
    packed = b"".join(bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8))
    return _plain(ip_address(packed)), int(port, 16)


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return an IPv4 address in IPv6 notation as IPv4."""
    return getattr(address, "ipv4_mapped", None) or address
