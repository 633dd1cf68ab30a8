"""Whose connection it is, as Linux tells."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tensorsleuth.ui.web.server import peer_uid

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:17B6 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1654 1 0000000000000000 100 0
   1: 0100007F:17B6 0100007F:CB2A 01 00000000:00000000 00:00000000 00000000  1000        0 977990 1 0000000000000000 21
   2: 0100007F:CB2A 0100007F:17B6 01 00000000:00000000 00:00000000 00000000  1001        0 977993 2 0000000000000000 21
   3: 0100007F:CB2B 0100007F:17B6 06 00000000:00000000 03:000001E4 00000000     0        0 0 3 0000000000000000
   4: 0100007F:CB2C 0100007F:17B6 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0000000000000000 21 0
nonsense
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when
   0: 00000000000000000000000001000000:CB2D 00000000000000000000000001000000:17B6 01 00000000:00000000 00:00000000 00000000  1001        0 9 2
   1: 0000000000000000FFFF00000100007F:CB2E 0000000000000000FFFF00000100007F:17B6 01 00000000:00000000 00:00000000 00000000  1001        0 9 2
"""  # noqa: E501


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tcp").write_text(TCP)
    (tmp_path / "tcp6").write_text(TCP6)
    monkeypatch.setattr(peer_uid, "TABLES", (str(tmp_path / "tcp"), str(tmp_path / "tcp6"), str(tmp_path / "none")))


OURS = [("127.0.0.1", 0xCB2A), ("::ffff:127.0.0.1", 0xCB2A), ("127.0.0.1", 0xCB2E)]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("client", OURS)
def test_the_users_end_is_looked_up(monkeypatch: pytest.MonkeyPatch, client: tuple[str, int]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert peer_uid.is_own(client, ("127.0.0.1", 0x17B6))
    assert not peer_uid.is_own(client, ("127.0.0.1", 0x17B7)), "a connection to another server"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not peer_uid.is_own(client, ("127.0.0.1", 0x17B6)), "whose the server is does not matter"


@pytest.mark.usefixtures("tables")
def test_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert peer_uid.is_own(("::1", 0xCB2D), ("::1", 0x17B6)) and not peer_uid.is_own(("::2", 0xCB2D), ("::1", 0x17B6))


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "client", [("127.0.0.1", 0xCB2B), ("127.0.0.1", 0xCB2C), ("10.0.0.9", 0xCB2A), ("name", 1), None]
)
def test_what_is_closed_nobodys_or_from_elsewhere_is_not_ours(
    monkeypatch: pytest.MonkeyPatch, client: tuple[str, int] | None
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not peer_uid.is_own(client, ("127.0.0.1", 0x17B6)) and not peer_uid.is_own(("127.0.0.1", 0xCB2A), None)


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with closing(socket.socket(family)) as server:
        try:
            server.bind((request.param, 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        server.listen()
        with closing(socket.create_connection(server.getsockname()[:2])) as client:
            yield client.getsockname()[:2], server.getsockname()[:2]


def test_a_real_connection(ends: tuple[tuple[str, int], tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert peer_uid.is_own(*ends)
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    assert not peer_uid.is_own(*ends)
