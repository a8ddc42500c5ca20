"""Remote stores: servers and folders, correct, faulty, or with credentials."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from olympus.artifact import new_key
from olympus_cli.builder.results import http_remote, remote
from olympus_cli.builder.results.entry import decoded
from olympus_cli.builder.results.http_remote import HttpRemote, action_result
from olympus_cli.builder.results.local import LocalStore
from olympus_cli.builder.results.redaction import redacted
from olympus_cli.builder.results.remote import Failures, GuardedRemote, remote_of
from olympus_cli.builder.results.remote_interface import RemoteError, within
from olympus_cli.builder.results.uploads import entry_to_upload
from olympus_cli.spec.cache import CacheSpec
from tests.cli.builder.results.http_server import CacheServer, cache_server
from tests.cli.builder.results.sample_results import entry, key_of, sample
from tests.marks import NGINX, needs_nginx


@pytest.fixture
def server() -> Iterator[CacheServer]:
    with cache_server() as running:
        yield running


def stores(kind: str, server: CacheServer, folder: Path) -> CacheSpec:
    """The stores of a test, with an empty remote one of a kind."""
    urls = {
        "http": server.url,
        "http-path": f"{server.url}/a/b/",
        "file": f"file://{folder}/remote",
        "memory": f"memory://olympus/{folder.name}",
    }
    return CacheSpec(folder / "local", remote=urls[kind])


every_kind = pytest.mark.parametrize("kind", ["http", "http-path", "file", "memory"])


@every_kind
def test_an_entry_is_stored_once_and_read_back(
    kind: str, server: CacheServer, tmp_path: Path
) -> None:
    client = remote_of(stores(kind, server, tmp_path))
    key, content = key_of(0), entry(0)
    assert not client.has(key) and client.get(key) is None
    client.put(key, content)
    assert client.has(key) and client.get(key) == content
    assert client.get(key_of(1)) is None
    guarded = GuardedRemote(stores(kind, server, tmp_path))
    assert guarded.put(key, lambda: b"another")  # the first writer wins
    assert guarded.get(key) == content
    assert not guarded.failures.lines()


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_of_two_writers_the_first_wins(kind: str, server: CacheServer, tmp_path: Path) -> None:
    client = remote_of(stores(kind, server, tmp_path))
    client.put(key_of(0), b"first")
    client.put(key_of(0), b"second")
    assert client.get(key_of(0)) == b"first"


@pytest.mark.parametrize(
    ("fault", "message", "is_off"),
    [
        ("500", "answered with 500", False),
        ("403", "answered with 403", True),
        ("302", "answered with 302", False),
        ("half", "an answer has 44 of 8. bytes", False),
        ("wrong", "another SHA-256", False),
        ("close", "GET failed: Remote end closed", False),
    ],
)
def test_a_faulty_server_is_a_failure_and_no_error(
    fault: str, message: str, is_off: bool, server: CacheServer, tmp_path: Path
) -> None:
    spec = stores("http", server, tmp_path)
    remote_of(spec).put(key_of(0), entry(0))
    server.fault = fault
    guarded = GuardedRemote(spec)
    assert guarded.get(key_of(0)) is None
    assert re.search(message, guarded.failures.lines()[0])
    assert guarded.failures.is_off is is_off
    for _ in range(5):
        assert guarded.get(key_of(0)) is None
    assert guarded.failures.is_off
    seen = len(server.requests)
    assert not guarded.put(key_of(1), lambda: entry(1))
    assert len(server.requests) == seen  # it is not used any more
    warning = guarded.failures.warning(server.url)
    assert warning is not None and warning.startswith(f"the remote store {server.url}: ")
    server.fault = ""
    assert GuardedRemote(spec).get(key_of(0)) == entry(0)


def test_a_slow_server_has_a_limit(
    server: CacheServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_remote, "ANSWER_LIMIT", 0.05)
    server.fault = "slow"
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.get(key_of(0)) is None
    assert guarded.failures.is_off
    assert "timed out" in guarded.failures.lines()[0]


def test_a_server_that_never_ends_an_answer_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()
    with pytest.raises(RemoteError, match=r"no answer within 0\.01 s") as raised:
        within(0.01, end.wait)
    assert raised.value.is_fatal
    end.set()
    assert within(60, lambda: 3) == 3
    with pytest.raises(KeyError):
        within(60, lambda: {}["missing"])


@pytest.mark.parametrize("part", ["/ac/", "/cas/"])
def test_an_entry_of_which_the_server_removed_a_part_is_stored_again(
    part: str, server: CacheServer, tmp_path: Path
) -> None:
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.put(key_of(0), lambda: entry(0))
    for path in [path for path in server.files if path.startswith(part)]:
        del server.files[path]
    assert guarded.get(key_of(0)) is None
    assert guarded.put(key_of(0), lambda: entry(0))
    assert guarded.get(key_of(0)) == entry(0)
    assert not guarded.failures.lines()


@every_kind
def test_a_refused_entry_is_replaced(kind: str, server: CacheServer, tmp_path: Path) -> None:
    spec = stores(kind, server, tmp_path)
    remote_of(spec).put(key_of(0), b"damaged")
    guarded = GuardedRemote(spec, Failures(tmp_path / "state"))
    guarded.refuse(key_of(0), "it is cut off")
    another = GuardedRemote(spec, Failures(tmp_path / "state"))  # the process of the uploads
    assert another.put(key_of(0), lambda: entry(0))
    assert guarded.get(key_of(0)) == entry(0)
    assert guarded.failures.lines() == [f" the result {key_of(0)} is not used: it is cut off"]


def test_a_damaged_local_entry_is_neither_uploaded_nor_signed(
    server: CacheServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = new_key()
    (tmp_path / "own.key").write_bytes(own.private)
    store = LocalStore(tmp_path / "local")
    damaged = bytearray(entry(0))
    damaged[-1] ^= 1
    store.put(key_of(0), [bytes(damaged)])
    for variable in ("", str(tmp_path / "own.key")):
        monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_SIGN_KEY", variable)
        guarded = GuardedRemote(stores("http", server, tmp_path))
        guarded.put(key_of(0), lambda: entry_to_upload(store, key_of(0), guarded))  # noqa: B023
        assert not server.files
        (line,) = guarded.failures.lines()
        assert "is not uploaded: its lines.json has another SHA-256" in line


def test_a_replacement_is_accepted_by_the_trusted_keys_of_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = new_key()
    (tmp_path / "own.key").write_bytes(own.private)
    store = LocalStore(tmp_path / "local", [own.public])
    store.put(key_of(0), [entry(0)])
    guarded = GuardedRemote(CacheSpec(tmp_path))
    assert entry_to_upload(store, key_of(0), guarded) == entry(0)
    guarded.refuse(key_of(0), "it is not signed")
    assert entry_to_upload(store, key_of(0), guarded) is None
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_SIGN_KEY", str(tmp_path / "own.key"))
    signed = entry_to_upload(store, key_of(0), guarded)
    assert signed is not None and decoded(signed, key_of(0), [own.public]) == sample(0)


def test_a_folder_has_the_permissions_of_the_umask(tmp_path: Path, server: CacheServer) -> None:
    before = os.umask(0o002)
    try:
        remote_of(stores("file", server, tmp_path)).put(key_of(0), entry(0))
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "remote").rglob("*.result")}
    assert modes == {0o664}
    folders = [tmp_path / "remote", tmp_path / "remote" / key_of(0)[:2]]
    assert {stat.S_IMODE(p.stat().st_mode) for p in folders} == {0o775}


def test_slow_answers_of_a_build_have_a_limit_in_all(
    tmp_path: Path, server: CacheServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 100_000, 59))  # each request takes 59 s
    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    spec = stores("file", server, tmp_path)
    builds = [GuardedRemote(spec, Failures(tmp_path / "state")) for _ in range(3)]
    builds[0].get(key_of(0))
    assert builds[1].failures.waited == 58 and not builds[1].failures.is_off
    builds[1].get(key_of(0))
    assert builds[2].failures.is_off
    assert builds[2].failures.lines() == ["!its slow answers took more than 60 s in all"]
    remote_of(spec).put(key_of(0), entry(0))
    assert builds[2].get(key_of(0)) is None


def test_an_absent_server_is_a_failure(tmp_path: Path, server: CacheServer) -> None:
    server.close()
    for url in (server.url, "nonsense://a/b", f"file://{tmp_path}/file/in"):
        (tmp_path / "file").touch()
        guarded = GuardedRemote(CacheSpec(tmp_path, remote=url))
        assert guarded.get(key_of(0)) is None
        assert guarded.failures.is_off, url


def test_a_read_only_remote_store_is_not_written(server: CacheServer, tmp_path: Path) -> None:
    spec = CacheSpec(tmp_path, remote=server.url, read_only=True)
    assert not GuardedRemote(spec).put(key_of(0), lambda: entry(0))
    assert not server.requests


def test_processes_of_a_build_share_its_failures(tmp_path: Path) -> None:
    one, other = Failures(tmp_path / "failures"), Failures(tmp_path / "failures")
    assert one.warning("url") is None and not other.is_off
    one.add("a first\nfailure", is_fatal=False)
    assert other.warning("url") == "the remote store url: a first failure"
    other.add("a second one", is_fatal=True)
    assert one.is_off
    assert one.warning("url") == (
        "the remote store url: a first failure; it was not used for the rest of the build"
    )
    assert Failures(tmp_path / "missing" / "failures").lines() == []


def authorization(server: CacheServer) -> set[str | None]:
    return {headers.get("Authorization") for _, _, headers in server.requests}


def test_credentials_are_in_the_environment_only_and_in_no_message(
    server: CacheServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = stores("http", server, tmp_path)
    remote_of(spec).has(key_of(0))
    assert authorization(server) == {None}
    server.requests.clear()
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_TOKEN", "secret-token")
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_HEADER", "X-Api-Key: secret-header")
    remote_of(spec).has(key_of(0))
    assert authorization(server) == {"Bearer secret-token"}
    assert server.requests[0][2]["X-Api-Key"] == "secret-header"
    server.requests.clear()
    with_user = server.url.replace("//", "//me:s%40cret@")
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", with_user)
    remote_of(spec).has(key_of(0))
    assert authorization(server) == {"Basic bWU6c0BjcmV0"}
    for fault in ("403", "302", "close"):
        server.fault = fault
        guarded = GuardedRemote(spec)
        guarded.get(key_of(0))
        (line, *_) = guarded.failures.lines()
        assert "cret" not in line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ValueError("cannot sign with abcdefgh"),
            " a request failed in its client with ValueError",
        ),
        (RemoteError("cannot sign with abcdefgh"), " cannot sign with ***"),
        (asyncio.CancelledError(), " its client ended with CancelledError"),
        (SystemExit(3), " its client ended with SystemExit"),
    ],
)
def test_each_error_of_a_library_is_a_failure_without_credentials(
    error: BaseException,
    line: str,
    tmp_path: Path,
    server: CacheServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("aws_secret_access_key", "abcdefgh")

    class Failing(HttpRemote):
        def get(self, key: str) -> bytes | None:
            raise error

    monkeypatch.setattr(remote, "remote_of", lambda _spec: Failing(server.url))
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.get(key_of(0)) is None
    assert guarded.failures.lines() == [line]


def test_a_token_with_a_trailing_newline_is_used(
    server: CacheServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_TOKEN", "s3cr3t\n")
    remote_of(stores("http", server, tmp_path)).has(key_of(0))
    assert authorization(server) == {"Bearer s3cr3t"}


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("TOKEN", "s3cr3t\nX-Other: 1", "_TOKEN has a character that is not allowed in a header"),
        ("TOKEN", "s3cr3t℀", "_TOKEN has a character that is not allowed in a header"),
        ("HEADER", "X-Api-Key: s3cr3t\rX: 1", "_HEADER has a character that is not allowed"),
        ("HEADER", "X Api Key: s3cr3t", "_HEADER must be NAME: VALUE"),
        ("HEADER", "s3cr3t", "_HEADER must be NAME: VALUE"),
    ],
)
def test_an_invalid_header_is_not_sent_and_not_shown(
    variable: str,
    value: str,
    message: str,
    server: CacheServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"OLYMPUS_REMOTE_CACHE_{variable}", value)
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.get(key_of(0)) is None
    (line,) = guarded.failures.lines()
    assert message in line and "s3" not in line
    assert not server.requests


@pytest.mark.parametrize(
    "message",
    [
        'Invalid bucket name "AKIA:s3/cr3t@bucket"',
        'Invalid bucket name "AKIA:s3%2Fcr3t@bucket"',
        'Invalid bucket name "AKIA:s3%2fcr3t@bucket"',
        f"wrong: Basic {base64.b64encode(b'AKIA:s3/cr3t').decode()}",
        "GET /a?sig=s3cr3t%3D&v=1 failed",
        "the signature s3cr3t= is wrong",
        "Invalid header value b'Api-Key s3cr3t\\\\value'",
        "X-Api-Key: Api-Key s3cr3t\\value",
    ],
)
def test_no_form_of_a_credential_is_shown(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "s3://AKIA:s3%2Fcr3t@bucket/a?sig=s3cr3t%3D&v=1"
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", url)
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE_HEADER", "X-Api-Key: Api-Key s3cr3t\\value")
    shown = redacted(message)
    assert "***" in shown
    assert not re.search("s3.{0,3}cr3t|AKIA|QUtJQ", shown), shown


def test_a_short_user_is_replaced_as_a_word_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", "https://me:s3cr3t@host/a")
    assert redacted("timed out for me at host") == "timed out for *** at host"


def test_the_action_is_a_message_of_bazel() -> None:
    """The fields are those of `ActionResult`, `OutputFile` and `Digest`."""
    from olympus_core.xla.proto.wire import Message

    digest = hashlib.sha256(b"x" * 300).hexdigest()
    (output,) = Message(action_result(digest, 300)).messages(2)
    assert output.text(1) == "olympus-result"
    reference = output.message(2)
    assert reference is not None
    assert (reference.text(1), reference.integer(2)) == (digest, 300)


def test_an_action_of_another_tool_is_no_entry(server: CacheServer, tmp_path: Path) -> None:
    server.files[f"/ac/{key_of(0)}"] = b"\x0a\x00"
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.get(key_of(0)) is None
    assert "names no digest" in guarded.failures.lines()[0]


def test_an_entry_without_its_content_is_absent(server: CacheServer, tmp_path: Path) -> None:
    remote_of(stores("http", server, tmp_path)).put(key_of(0), entry(0))
    for path in [path for path in server.files if path.startswith("/cas/")]:
        del server.files[path]
    guarded = GuardedRemote(stores("http", server, tmp_path))
    assert guarded.get(key_of(0)) is None
    assert not guarded.failures.lines()


CONFIGURATION = """\
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/files;
    dav_methods PUT;
    create_full_put_path on;
  }}
}}
"""


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[str]:
    """The URL of nginx with WebDAV."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path / "nginx"
    (folder / "files").mkdir(parents=True)
    folder.chmod(0o777)
    (folder / "files").chmod(0o777)
    tmp_path.chmod(0o755)
    text = CONFIGURATION.format(folder=folder, port=port)
    if os.getuid() == 0:
        text = f"user root;\n{text}"
    (folder / "nginx.conf").write_text(text)
    command = [str(NGINX), "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/cache"
    finally:
        process.terminate()
        process.wait()


@needs_nginx
def test_nginx_is_a_remote_store(nginx: str, tmp_path: Path) -> None:
    guarded = GuardedRemote(CacheSpec(tmp_path, remote=nginx))
    assert guarded.get(key_of(0)) is None
    content = entry(0, size=300_000)
    assert guarded.put(key_of(0), lambda: content)
    found = guarded.get(key_of(0))
    assert not guarded.failures.lines()
    assert found is not None and decoded(found, key_of(0)) == sample(0, 300_000)


def test_only_a_store_of_fsspec_imports_it(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from olympus_cli.spec.cache import CacheSpec;"
        "from olympus_cli.builder.results.remote import GuardedRemote;"
        "GuardedRemote(CacheSpec(Path('/a'), remote=sys.argv[1])).get('0' * 64);"
        "print('fsspec' in sys.modules)"
    )
    for url, expected in ((f"file://{tmp_path}", "False"), ("memory://a", "True")):
        command = [sys.executable, "-c", code, url]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == expected
