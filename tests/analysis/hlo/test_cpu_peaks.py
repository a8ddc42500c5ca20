"""The peaks of this CPU: measured, saved in a file for each CPU, and ignored if it is damaged."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from olympus.errors import UsageError
from olympus_core.analysis.hlo import cpu_peaks
from olympus_core.analysis.hlo.cpu_peaks import (
    GENERIC,
    Calibrated,
    Cpu,
    Kept,
    cache_file,
    keep_peaks,
    kept_peaks,
    known_peaks,
)
from olympus_core.api import calibration


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_saved_peaks_are_read(cache: Path) -> None:
    assert kept_peaks() == Kept(None, None)
    path = keep_peaks(GENERIC)
    assert path == cache_file() and path.parent == cache / "olympus"
    assert kept_peaks()[:2] == (GENERIC, None)
    faster = dataclasses.replace(GENERIC, call=1e-5)
    keep_peaks(faster)
    assert kept_peaks().peaks == faster
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_each_cpu_has_its_own_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_peaks(GENERIC)
    this_cpu = cpu_peaks.this_cpu()
    assert this_cpu.threads >= 1 and this_cpu.model
    names = {str(cache_file(cpu)) for cpu in (this_cpu, Cpu(this_cpu.model, 999), Cpu("other", 2))}
    assert len(names) == 3
    monkeypatch.setattr(cpu_peaks, "this_cpu", lambda: Cpu("other", 2))
    assert kept_peaks() == Kept(None, None)


DAMAGED = {
    "empty": b"",
    "no JSON": b"{",
    "not text": b"\xff\xfe\x00",
    "a list": b"[]",
    "null": b"null",
    "nested": b"[" * 100_000,
    "another version": {"schema_version": 99},
    "another CPU": {"cpu": {"model": "Z80", "threads": 1}},
    "no peaks": {"peaks": None},
    "a peak less": {"peaks": {"call": 1.0}},
    "negative": {"call": -1.0},
    "zero": {"launch": 0.0},
    "text": {"read": "fast"},
    "true": {"read": True},
    "nan": {"read": float("nan")},
    "infinite": {"copy": float("inf")},
    "no calibration": {"calibrated": None},
    "a wrong time": {"calibrated": {"time": "now", "load": 1.0}},
    "a wrong load": {"calibrated": {"time": "2026-11-23 19:10 UTC", "load": -1.0}},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_reported_and_ignored(name: str, cache: Path) -> None:
    path, change = keep_peaks(GENERIC), DAMAGED[name]
    if isinstance(change, dict):
        data = json.loads(path.read_text())
        place = data if change.keys() & data.keys() else data["peaks"]
        place.update(change)
        change = json.dumps(data).encode()
    path.write_bytes(change)
    saved = kept_peaks()
    assert saved.peaks is None
    assert str(path) in str(saved.trouble) and "is damaged" in str(saved.trouble)
    keep_peaks(GENERIC)
    assert kept_peaks().peaks == GENERIC


def test_folders_that_cannot_be_used_are_reported(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keep_peaks(GENERIC)
    path.unlink()
    path.mkdir()
    assert "cannot be read" in str(kept_peaks().trouble)
    with pytest.raises(UsageError, match="cannot be written"):
        keep_peaks(GENERIC)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert kept_peaks() == Kept(None, None)
    with pytest.raises(UsageError, match="cannot be written"):
        keep_peaks(GENERIC)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(cache / "home"))
    assert cache_file() == cache / "home" / ".cache" / "olympus" / path.name
    monkeypatch.setattr("olympus_core.analysis.hlo.cpu_peaks.user_cache_folder", lambda: None)
    assert cache_file() is None and kept_peaks() == Kept(None, None)
    with pytest.raises(UsageError, match="this user has no home directory") as caught:
        keep_peaks(GENERIC)
    assert "XDG_CACHE_HOME" in str(caught.value.hint)


def test_calibration_measures_every_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_SECONDS": 0, "_PRODUCT": 64, "_MIDDLE": 2**12, "_LARGE": 2**16}.items():
        monkeypatch.setattr(calibration, name, value)
    parts: list[str] = []
    peaks = calibration.calibrate(parts.append)
    assert parts == ["products", "arithmetic", "memory", "calls"] * 3
    for field in dataclasses.fields(peaks):
        value = getattr(peaks, field.name)
        assert isinstance(value, float) and 0 < value < 1e15, field.name
    assert peaks.launch < peaks.call < 1


def test_an_estimate_uses_the_saved_peaks_or_generic_ones(cache: Path) -> None:
    assert known_peaks() == GENERIC
    mine = dataclasses.replace(GENERIC, vector=1e9)
    keep_peaks(mine)
    assert known_peaks() == mine


def test_the_time_and_the_load_of_a_calibration_are_saved(cache: Path) -> None:
    calibrated = Calibrated("2026-11-23 19:10 UTC", 9.03)
    keep_peaks(GENERIC, calibrated)
    assert kept_peaks() == Kept(GENERIC, None, calibrated)
    assert kept_peaks().origin == "2026-11-23 19:10 UTC at a load of 9.03"
    keep_peaks(GENERIC, calibrated._replace(load=None))
    assert kept_peaks().origin == "2026-11-23 19:10 UTC at an unknown load"


def test_a_file_of_the_first_version_is_read(cache: Path) -> None:
    path = keep_peaks(GENERIC)
    data = json.loads(path.read_text())
    del data["calibrated"]
    path.write_text(json.dumps({**data, "schema_version": 1}))
    assert kept_peaks() == Kept(GENERIC, None, None)
    assert "unknown time and load, by an earlier version" in str(kept_peaks().origin)


def test_the_shortest_time_of_the_rounds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    factors = iter([4.0, 1.0, 2.0])
    names = ("float32", "float64", "vector", "functions", "read", "in place", "new", "call")
    usual = {**dict.fromkeys(names, 0.01), "new": 0.02, "chain": 0.1, "long chain": 0.2}

    def measured(_report: object) -> dict[str, float]:
        factor = next(factors)
        return {name: seconds * factor for name, seconds in usual.items()}

    monkeypatch.setattr(calibration, "_round", measured)
    assert calibration.calibrate() == calibration._peaks(usual)
