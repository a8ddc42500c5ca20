"""Setup of all tests: an environment without settings, golden files and their option."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import jaxlib.version
import jaxlib.xla_client
import pytest

from tests.drawn import DAY_EXAMPLES, NIGHT_EXAMPLES

# Imports and collection create objects that live as long as the session: the garbage collector
# takes a third of that time and frees nothing, so it starts afterwards, without these objects.
gc.disable()

# What a shell has set for OLYMPUS, for JAX or for XLA is no part of a test, nor of the processes
# that one starts.  This module is the first to run, before anything is imported that reads them.
_OTHERS = {"XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_CPP_MIN_LOG_LEVEL"}
for _name in [*os.environ]:
    if _name.startswith(("OLYMPUS_", "JAX_")) or _name in _OTHERS:
        del os.environ[_name]
os.environ["XDG_CONFIG_HOME"] = os.devnull  # no settings of the user's
os.environ["XDG_CACHE_HOME"] = os.devnull  # nor what was measured on this machine
os.environ["JAX_PLATFORMS"] = "cpu"  # the oracle's, on machines with a GPU too
os.environ["JAX_NUM_CPU_DEVICES"] = "8"

# Thousands of tiny programs are compiled here and each runs once, so optimizations are not worth
# their time, nor the slower of the two ways in which older jaxlibs emit fusions: newer ones, which
# the tests run on too, have it alone.  To split the code of such a program among threads takes
# longer than to compile it.  XLA reads its flags once a process: the processes that tests start
# have the usual ones.
_FASTER = ["--xla_backend_optimization_level=0", "--xla_cpu_parallel_codegen_split_count=1"]
if jaxlib.version.__version_info__ < (0, 11):
    _FASTER.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join(_FASTER)
jaxlib.xla_client.CompileOptions()
del os.environ["XLA_FLAGS"]


def _start_with_several_devices() -> None:
    """Start the runtime with as many devices as the oracle has, and leave no trace of it.

    Programs of several devices are tested in this process; the processes that tests start
    have the usual one.
    """
    from olympus_core.xla.runtime.cpu import cpu_client  # what it imports reads the environment

    os.environ["OLYMPUS_NUM_CPU_DEVICES"] = "8"
    cpu_client()
    del os.environ["OLYMPUS_NUM_CPU_DEVICES"]


_start_with_several_devices()

# The machine's load decides how long an example takes: limits would be timed assertions.
for _name, _examples in (("day", DAY_EXAMPLES), ("night", NIGHT_EXAMPLES)):
    hypothesis.settings.register_profile(
        _name,
        deadline=None,
        derandomize=True,
        max_examples=_examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("day")

GOLDEN = Path(__file__).parent / "golden"
#: Variables that describe a terminal: pytest reads them for its output, tests run without them.
LOOKS = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")
    parser.addoption("--night", action="store_true", help="all tests, with more drawn examples")
    parser.addoption("--torch", action="store_true", help="the tests that need PyTorch too")
    parser.addoption("--s3", action="store_true", help="the tests that need a server of S3 too")
    parser.addoption("--fuzz-seed", type=int, default=0, help="the first seed of tests/fuzz")
    parser.addoption(
        "--fuzz", type=float, default=0.25, metavar="N", help="tests/fuzz with N times the cases"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of drawn examples, before test files are imported."""
    hypothesis.settings.load_profile("night" if config.getoption("--night") else "day")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests with the marks `night`, `torch` and `s3`, unless they are requested."""
    for mark in ("night", "torch", "s3"):
        marked = [item for item in items if item.get_closest_marker(mark)]
        if marked and not config.getoption(f"--{mark}"):
            config.hook.pytest_deselected(items=marked)
            items[:] = [item for item in items if not item.get_closest_marker(mark)]


def pytest_collection_finish() -> None:
    """Start the garbage collector, which ignores the objects that exist so far.

    It runs less often than by default: JAX and the tests keep many objects, few of them in cycles.
    """
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


def pytest_sessionstart() -> None:
    """Remove the variables that describe a terminal: pytest has read them, tests must not."""
    for name in LOOKS:
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """Let each test, and what it starts, be interrupted: `nohup pytest &` ignores that."""
    if threading.current_thread() is not threading.main_thread():
        return (yield)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return (yield)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def search_path() -> Iterator[None]:
    """Remove from `sys.path` what a test has added: the listing of a folder there is an input."""
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """`subprocess.Popen`, and the end of each process with the test's, also of one that fails."""
    with contextlib.ExitStack() as stack:

        def start(*args: Any, **options: Any) -> subprocess.Popen[Any]:
            process = subprocess.Popen(*args, **options)
            stack.enter_context(process)  # waits, and closes the pipes
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: the text is what tests/golden/<name> holds."""
    update = request.config.getoption("--update-golden")

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden {name}: run pytest with --update-golden, and read it"
        golden_text = path.read_text(encoding="utf-8")
        assert text == golden_text, f"{name} differs; --update-golden renews it"

    return check
