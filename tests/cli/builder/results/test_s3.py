"""A remote store in S3, by s3fs and a server of moto."""

from __future__ import annotations

import importlib
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olympus_cli.builder.results.remote import GuardedRemote, remote_of
from olympus_cli.spec.cache import CacheSpec
from tests.cli.builder.results.sample_results import entry, key_of

pytestmark = [
    pytest.mark.s3,
    # of botocore and moto, which use what this Python deprecates
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a server of S3 with an empty bucket `results`, which the environment names."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = importlib.import_module("moto.server").ThreadedMotoServer("127.0.0.1", _free_port())
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "a secret of the tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    client = importlib.import_module("boto3").client("s3")
    client.create_bucket(Bucket="results")
    yield client
    server.stop()
    importlib.import_module("s3fs").S3FileSystem.clear_instance_cache()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_an_entry_is_stored_once_and_read_back(s3: Any, tmp_path: Path) -> None:
    spec = CacheSpec(tmp_path, remote="s3://results/team")
    guarded = GuardedRemote(spec)
    assert guarded.get(key_of(0)) is None
    assert guarded.put(key_of(0), lambda: entry(0))
    assert guarded.get(key_of(0)) == entry(0)
    assert guarded.put(key_of(0), lambda: b"another")
    remote_of(spec).put(key_of(0), b"another, at the same time")
    assert guarded.get(key_of(0)) == entry(0)
    assert not guarded.failures.lines()
    (found,) = s3.list_objects_v2(Bucket="results")["Contents"]
    assert found["Key"] == f"team/{key_of(0)[:2]}/{key_of(0)}.result"


def test_an_entry_of_another_machine_is_found(s3: Any, tmp_path: Path) -> None:
    guarded = GuardedRemote(CacheSpec(tmp_path, remote="s3://results"))
    assert guarded.get(key_of(0)) is None
    s3.put_object(Bucket="results", Key=f"{key_of(0)[:2]}/{key_of(0)}.result", Body=entry(0))
    assert guarded.get(key_of(0)) == entry(0)


def test_a_missing_bucket_or_server_is_a_failure(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = GuardedRemote(CacheSpec(tmp_path, remote="s3://missing"))
    assert guarded.get(key_of(0)) is None
    assert not guarded.put(key_of(0), lambda: entry(0))
    assert guarded.failures.lines()
    assert "a secret of the tests" not in "".join(guarded.failures.lines())
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{_free_port()}")
    importlib.import_module("s3fs").S3FileSystem.clear_instance_cache()
    guarded = GuardedRemote(CacheSpec(tmp_path, remote="s3://results"))
    assert guarded.get(key_of(0)) is None
    assert guarded.failures.lines()
