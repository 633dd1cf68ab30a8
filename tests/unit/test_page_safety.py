"""Who may ask `sleuth view`: each guard has a request here that would get through without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.serving import Serving, serving

from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web.server import access_control


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    logdir = tmp_path_factory.mktemp("runs")
    synthetic.write(logdir / "first", events=2000)
    (logdir.parent / "outside.txt").write_text("secret")
    with serving(logdir) as running:
        yield running


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server that others can reach: it asks for its token."""
    with serving(tmp_path_factory.mktemp("runs"), host="0.0.0.0") as running:
        yield running


def refused(local: Serving, status: int = 403, path: str = "/api/runs", method: str = "GET", **headers: str) -> str:
    answer = local.get(path, method, **headers)
    assert answer.status == status
    assert set(answer.json["error"]) == {"what", "next"}
    return str(answer.json["error"]["what"])


def test_what_this_machine_asks_is_answered(local: Serving) -> None:
    assert local.get("/").status == 200
    assert local.get("/api/runs").json["items"][0]["name"] == "first"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(local: Serving, method: str) -> None:
    assert "only reads" in refused(local, 405, method=method)


def test_head_has_no_body(local: Serving) -> None:
    answer = local.get("/", "HEAD")
    assert (answer.status, answer.body) == (200, b"")


STRANGERS = (
    "evil.example evil.example:1 localhost.evil.example 127.0.0.1.evil.example localhost@evil.example 1.1.1.1:2:3"
)


@pytest.mark.parametrize("host", [*STRANGERS.split(), ""])
def test_a_name_that_a_stranger_points_here_is_refused(local: Serving, host: str) -> None:
    assert "does not belong to this server" in refused(local, Host=host)


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1:6070", "[::1]:6070"])
def test_our_own_names_work_through_any_forwarded_port(local: Serving, host: str) -> None:
    assert local.get("/api/runs", Host=host).status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://127.0.0.1"])
def test_a_script_of_another_site_is_refused(local: Serving, origin: str) -> None:
    assert "another site" in refused(local, Origin=origin)


def test_our_own_script_is_not(local: Serving) -> None:
    host = f"127.0.0.1:{local.port}"
    assert local.get("/api/runs", Origin=f"http://{host}", Host=host).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_the_browser_says_comes_from_another_site_is_refused(local: Serving, site: str) -> None:
    refused(local, Sec_Fetch_Site=site)
    refused(local, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate")
    refused(local, path="/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")


def test_a_link_to_the_page_can_be_followed_from_anywhere(local: Serving) -> None:
    assert local.get("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200


@pytest.mark.parametrize("path", ["/", "/api/runs", "/nowhere", "/api/runs/none"])
def test_every_answer_has_the_headers(local: Serving, path: str) -> None:
    headers = local.get(path).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_refusal_has_them_too(local: Serving) -> None:
    assert "content-security-policy" in local.get("/", Host="evil.example").headers


PATHS = """
/../outside.txt /%2e%2e/outside.txt /..%2foutside.txt //etc/passwd /etc/passwd /assets/../index.html
/api/runs/.. /api/runs/%2e%2e /api/runs/..%2f.. /api/runs/first%2f..%2ffirst /api/runs/first%00 /api/runs/.
/api/runs/%2fetc /api/runs/first/compare?with=../outside.txt /api/runs/first/compare?with=..%2Ffirst
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_no_path_of_a_request_reaches_the_disk(local: Serving, path: str) -> None:
    assert refused(local, 404, path=path)


def test_a_run_that_is_no_run_is_not_opened(local: Serving) -> None:
    (local.shelf.logdir / "no-run").mkdir(exist_ok=True)
    assert "no run 'no-run'" in refused(local, 404, path="/api/runs/no-run")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_loopback_needs_no_token(host: str) -> None:
    assert access_control.make_access_policy(host, 1).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "no-such-host.invalid"])
def test_any_other_address_has_a_token_of_its_own(host: str) -> None:
    first, second = access_control.make_access_policy(host, 1).token, access_control.make_access_policy(host, 1).token
    assert first and second and first != second and len(first) >= 32


@pytest.mark.parametrize(
    "path", ["/", "/api/runs", "/assets/index-abc.js", "/?token=", "/?token=wrong", "/api/runs?token=a"]
)
def test_without_the_token_nothing_is_told(remote: Serving, path: str) -> None:
    assert "token" in refused(remote, path=path)


def test_a_wrong_cookie_is_no_token(remote: Serving) -> None:
    refused(remote, Cookie=f"{remote.guarding.cookie}=wrong")
    refused(remote, Cookie=f"other={remote.guarding.token}")


def test_the_token_becomes_a_cookie_and_leaves_the_address(remote: Serving) -> None:
    first = remote.get(f"/?token={remote.guarding.token}")
    assert (first.status, first.headers["location"], first.headers["cache-control"]) == (303, "./", "no-store")
    cookie = first.headers["set-cookie"]
    assert "httponly" in cookie.lower() and "samesite=lax" in cookie.lower()
    assert remote.get("/", Cookie=cookie.split(";")[0]).status == 200
    assert remote.get("/api/runs", Cookie=f"a=b; {cookie.split(';')[0]}").status == 200


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = access_control.make_access_policy("0.0.0.0", 1)
    monkeypatch.setattr("hmac.compare_digest", lambda given, token: given == b"other")
    assert guard.is_token("other") and not guard.is_token(str(guard.token)), "nothing but compare_digest decides"


def test_the_cookie_of_one_server_is_not_that_of_another() -> None:
    assert (
        access_control.make_access_policy("0.0.0.0", 1).cookie != access_control.make_access_policy("0.0.0.0", 2).cookie
    )


def test_the_log_directory_itself_may_be_anywhere(tmp_path: Path) -> None:
    with serving(tmp_path / "not there yet") as running:
        assert running.get("/api/runs").json["items"] == []
