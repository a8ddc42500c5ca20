"""olympus.profiler: a recording in a folder, with the names of blocks, steps and functions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import olympus as ox
from olympus import profiler
from olympus.errors import BackendError, UnsupportedError


def test_a_recording(tmp_path: Path) -> None:
    @profiler.annotate_function
    def named(x: float) -> ox.Array:
        return ox.numpy.sin(x)

    with profiler.trace(tmp_path, create_perfetto_trace=True):
        with profiler.TraceAnnotation("block of a test", number=3):
            named(1.0).block_until_ready()
        with profiler.StepTraceAnnotation("step of a test", step_num=1):
            pass
        with pytest.raises(BackendError, match="Only one profile"):
            profiler.start_trace(tmp_path)
    (path,) = tmp_path.rglob("perfetto_trace.json.gz")
    data = json.loads(gzip.decompress(path.read_bytes()))
    names = {event.get("name") for event in data["traceEvents"]}
    assert {"block of a test", "step of a test", named.__qualname__} <= names
    assert "metadata" not in data
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with pytest.raises(UnsupportedError, match="create_perfetto_link"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
