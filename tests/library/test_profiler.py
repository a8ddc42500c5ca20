"""olympus.profiler: a recording in a folder, with the names of blocks, steps and functions."""

from __future__ import annotations

import gzip
import json
import socket
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


def test_recordings_are_read_by_the_classes_of_the_profiler(tmp_path: Path) -> None:
    with profiler.trace(tmp_path):
        ox.numpy.ones(3).block_until_ready()
    (file,) = tmp_path.rglob("*.xplane.pb")
    data = profiler.ProfileData.from_file(str(file))
    planes = list(data.planes)
    assert planes and all(isinstance(x, profiler.ProfilePlane) for x in planes)
    lines = [line for plane in planes for line in plane.lines]
    assert all(isinstance(x, profiler.ProfileLine) for x in lines)
    events = [event for line in lines for event in line.events]
    assert events and all(isinstance(x, profiler.ProfileEvent) for x in events)


def test_the_memory_of_a_process_is_a_profile(tmp_path: Path) -> None:
    array = ox.numpy.ones(1000)
    text = gzip.decompress(profiler.device_memory_profile())
    assert b"buffer" in text and array.shape == (1000,)
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert b"buffer" in gzip.decompress((tmp_path / "memory.prof").read_bytes())


def test_a_process_has_one_server_of_its_profiler() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    with pytest.raises(ValueError, match="no active profiler server"):
        profiler.stop_server()
    server = profiler.start_server(port)
    with pytest.raises(ValueError, match="only one profiler server"):
        profiler.start_server(port)
    del server
    profiler.stop_server()
