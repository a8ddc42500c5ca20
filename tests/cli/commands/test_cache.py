"""`olympus cache`: list, verify and remove stored results."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from olympus.artifact import new_key
from olympus_cli.builder.results import maintenance
from olympus_cli.builder.results.local import LocalStore
from olympus_runtime.loading import result_store
from tests.cli.builder.results.sample_results import entry, key_of

Invoke = Callable[..., Result]


@pytest.fixture
def store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    """A store with three results."""
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(folder / "store"))
    store = LocalStore(folder / "store")
    for number in range(2):
        store.put(key_of(number), [entry(number)])
    store.put(key_of(2), [entry(2)], "fetched")
    return store


def test_results_are_listed(store: LocalStore, invoke: Invoke) -> None:
    assert invoke("cache", "path").stdout == f"{store.folder}\n"
    text = invoke("cache", "list").stdout
    assert text.count("forward") == 3 and text.count("a remote store") == 1
    assert f"3 results, {3 * len(entry()) / 1024:.2f} KiB, in {store.folder}" in text
    document = json.loads(invoke("cache", "list", "--json").stdout)
    assert {result["key"] for result in document["results"]} == {key_of(n) for n in range(3)}
    assert {result["compile_seconds"] for result in document["results"]} == {1.25}


def test_damaged_results_are_removed(store: LocalStore, invoke: Invoke) -> None:
    assert "3 results: all intact" in invoke("cache", "verify").stdout
    path = next(iter(store.files())).path
    path.write_bytes(path.read_bytes()[:-1])
    result = invoke("cache", "verify")
    assert result.exit_code == 5
    assert f"removed {path}: it is cut off" in result.stderr
    assert "1 of 3 results were damaged" in result.stderr
    assert len([*store.files()]) == 2


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_results_that_cannot_be_read_are_not_removed(
    number: int, store: LocalStore, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> bytes:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(maintenance, "read_regular", failing)
    result = invoke("cache", "verify")
    assert result.exit_code == 5
    assert "3 of 3 results cannot be used" in result.stderr
    assert result.stderr.count(os.strerror(number)) == 3 and "removed" not in result.stderr
    assert len([*store.files()]) == 3


def test_results_of_a_remote_store_without_a_trusted_signature_are_reported(
    store: LocalStore, invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "config" / "olympus").mkdir(parents=True)
    (folder / "config" / "olympus" / "team.pub").write_bytes(new_key().public)
    text = '[bundles]\ntrust = ["team.pub"]\n'
    (folder / "config" / "olympus" / "config.toml").write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    result = invoke("cache", "verify", "--json")
    assert result.exit_code == 5 and "it is not signed" in result.stderr
    document = json.loads(result.stdout)
    assert document["damaged"] == []
    assert [entry["key"] for entry in document["unusable"]] == [key_of(2)]
    assert len([*store.files()]) == 3


def test_results_over_the_limits_are_removed(store: LocalStore, invoke: Invoke) -> None:
    size = f"{len(entry())}B"
    assert (
        "2 results would be removed"
        in invoke("cache", "gc", "--max-size", size, "--dry-run").stdout
    )
    assert "0 results removed" in invoke("cache", "gc", "--older", "1d").stdout
    assert "0 results removed" in invoke("cache", "gc").stdout
    document = json.loads(invoke("cache", "gc", "--max-size", size, "--json").stdout)
    assert document == {"removed": 2, "bytes": 2 * len(entry()), "dry_run": False}
    assert "1 result removed" in invoke("cache", "clear").stdout
    assert "0 results, 0 B" in invoke("cache", "list").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gc", "--older", "soon"), "--older must be a time, such as 12h or 30d"),
        (("gc", "--max-size", "+5%"), "--max-size must be a size, such as 10GB"),
        (("gc", "--max-size", "1XB"), "'XB' is not a unit of bytes"),
        (("list", "--older", "1d"), "--older is for olympus cache gc"),
        (("verify", "--dry-run"), "--dry-run is for olympus cache gc and clear"),
    ],
)
def test_wrong_options_are_refused(
    words: tuple[str, ...], message: str, store: LocalStore, invoke: Invoke
) -> None:
    result = invoke("cache", *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_store_of_a_project_is_used(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "olympus.toml").write_text('[project]\ncache = "results"\n')
    assert invoke("cache", "path").stdout == f"{folder / 'results'}\n"
    health = json.loads(invoke("doctor", "--json").stdout)
    assert health["store"]["path"] == str(folder / "results")
    (folder / "olympus.toml").write_text("[project]\ncache = false\n")
    result = invoke("cache", "path")
    assert result.exit_code == 2 and "the store of results is off" in result.stderr
    assert "store    off" in invoke("doctor").stdout
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(folder / "variable"))  # it takes precedence
    monkeypatch.setenv("OLYMPUS_REMOTE_CACHE", "https://me:secret@example.com/a")
    text = invoke("doctor").stdout
    assert f"store    {folder / 'variable'}: 0 results" in text
    assert "remote   https://example.com/a" in text and "secret" not in text
    monkeypatch.delenv("OLYMPUS_CACHE_DIR")
    (folder / "olympus.toml").write_text("[project]\ncache = 1\n")
    assert "must be true, false or the path of a folder; got" in invoke("cache", "path").stderr
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", "")
    (folder / "olympus.toml").unlink()
    assert invoke("cache", "path").exit_code == 2


def test_a_program_of_a_loaded_bundle_is_listed_and_verified(
    folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(folder / "store"))
    key = "ab" * 32
    result_store.write(key, b"code")
    (path,) = (folder / "store").rglob("*.refined")
    shown = invoke("cache", "list").stdout
    assert "a bundle with symbolic sizes" in shown and key[:12] in shown
    assert invoke("cache", "verify").stdout == "1 result: all intact\n"
    path.write_bytes(path.read_bytes() + b"?")
    assert invoke("cache", "verify").exit_code == 5
    assert not path.exists()
