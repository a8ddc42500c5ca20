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


def test_a_session_is_read_and_written(tmp_path: Path) -> None:
    with ox.profiler.ProfileSession() as session:
        assert session.is_running
        with ox.profiler.TraceAnnotation("a part of the session"):
            ox.numpy.ones(3).block_until_ready()
        with pytest.raises(RuntimeError, match="while it is running"):
            session.export_profile_data(tmp_path)
        with pytest.raises(RuntimeError, match="already been started"):
            ox.profiler.ProfileSession().start()
    assert not session.is_running
    names = {
        event.name
        for plane in session.profile_data.planes
        for line in plane.lines
        for event in line.events
    }
    assert "a part of the session" in names
    ox.profiler.export_profile_data(session, tmp_path, create_perfetto_trace=True)
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))
    assert list(tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz"))
    written = ox.profiler.ProfileSession(tmp_path / "other").start()
    assert written.stop() is written.profile_data
    assert list((tmp_path / "other").glob("plugins/profile/*/*.xplane.pb"))
    with pytest.raises(RuntimeError, match="No profile started"):
        written.stop()


def test_wrong_sessions() -> None:
    session = ox.profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="No profile data to export"):
        ox.profiler.export_profile_data(session, "x")
    with pytest.raises(TypeError, match="needs a ProfileSession, and got int"):
        ox.profiler.export_profile_data(3, "x")
    with pytest.raises(ValueError, match="needs a log_dir"):
        ox.profiler.ProfileSession(create_perfetto_trace=True)
    with pytest.raises(NotImplementedError, match="create_perfetto_link"):
        ox.profiler.ProfileSession(create_perfetto_link=True)


def test_a_process_is_recorded_with_another_one() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    profiler.start_server(port)
    try:
        end = profiler.register_subprocess(2**22 + 1, port)
        with pytest.raises(BackendError, match="register_subprocess"):
            profiler.register_subprocess(2**22 + 1, port)
        end()
        profiler.register_subprocess(2**22 + 1, port)()
    finally:
        profiler.stop_server()
