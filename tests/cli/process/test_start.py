"""The start and end of a command: its imports, and the resources that it leaves to the system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[3])

COMMAND = """
import atexit, gc, os, sys, threading, time

kept = open(2, "w", closefd=False)
kept.write("freed ")  # where Python frees it: till then that is in its buffer
atexit.register(os.write, 2, b"registered ")
sys.argv = ["olympus", "--help"]
from olympus_cli.__main__ import main
"""


def done(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ROOT, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


SIGNALLED = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore the signal

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "olympus_cli.process.interrupts":
            os.kill(os.getpid(), signal.SIGINT)

from olympus_cli.__main__ import main
sys.meta_path.insert(0, Finder())
main()
"""


def test_ctrl_c_before_the_handler_is_installed_shows_no_traceback() -> None:
    result = done(SIGNALLED)
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_the_process_ends_without_freeing_its_objects() -> None:
    result = done(COMMAND + "main()")
    assert (result.returncode, result.stderr) == (0, "registered ")
    assert result.stdout.startswith("Usage: olympus")


@pytest.mark.parametrize(
    ("setup", "stdout"),
    [
        (
            "threading.Thread(target=lambda: (time.sleep(1), os.write(2, b'waited '))).start()",
            "waited registered freed ",
        ),
        ("sys.setprofile(lambda *_: None)", "registered freed "),
        ("sys.settrace(lambda *_: None)", "registered freed "),
        ("import cProfile; profiler = cProfile.Profile(); profiler.enable()", "registered freed "),
    ],
)
def test_python_ends_a_process_with_a_thread_or_a_profiler(setup: str, stdout: str) -> None:
    result = done(f"{COMMAND}{setup}\nmain()")
    assert (result.returncode, result.stderr) == (0, stdout)


def test_a_stream_that_cannot_be_flushed_exits_as_in_python() -> None:
    code = "class Full:\n    def write(self, text): pass\n    def flush(self): raise OSError\n"
    result = done(f"{COMMAND}{code}atexit.register(setattr, sys, 'stderr', Full())\nmain()")
    assert (result.returncode, result.stderr) == (120, "registered ")


@pytest.mark.parametrize(("code", "leaves"), [("3", True), ("None", True), ("'no'", False)])
def test_codes_of_the_end(code: str, leaves: bool) -> None:
    result = done(
        f"from olympus_cli.process.fast_exit import leave; leave({code}); print('stayed')"
    )
    assert (result.returncode, "stayed" in result.stdout) == (
        int(code) if code.isdigit() else 0,
        not leaves,
    )


LOADING = """
import gc
from olympus_cli.process import own_process
from olympus_cli.process.fast_imports import unhindered
{claim}
frozen = gc.get_freeze_count()
with unhindered():
    print(gc.isenabled())
print(gc.isenabled(), gc.get_freeze_count() > frozen)
"""


def test_the_collector_is_off_during_imports() -> None:
    code = LOADING.format(claim="own_process.claim()")
    assert done(code).stdout == "False\nTrue True\n"


def test_a_process_of_another_program_is_not_changed() -> None:
    assert done(LOADING.format(claim="")).stdout == "True\nTrue False\n"


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("build", "olympus_core.analysis.cost olympus_core.analysis.memory xml.etree"),
        ("build", "olympus_core.analysis.hlo.kernels olympus_cli.reports.html"),
        ("build", "olympus_cli.history.store"),
        ("lower", "olympus.analysis olympus.artifact olympus_cli.builder xml.etree email"),
        ("trace", "olympus.analysis olympus.artifact olympus_cli.builder xml.etree email"),
    ],
)
def test_a_command_imports_only_the_modules_that_it_needs_to_start(
    command: str, absent: str
) -> None:
    never = ["jaxlib.mlir", "jinja2", "rich", "sqlite3", "statistics", "asyncio"]
    code = f"import sys, olympus_cli.commands.{command}; print(*sys.modules)"
    loaded = set(done(code).stdout.split())
    assert f"olympus_cli.commands.{command}" in loaded
    assert loaded & {*absent.split(), *never} == set()


def test_the_bindings_of_a_dialect_are_imported_at_its_first_use() -> None:
    code = (
        "import sys, olympus as ox\n"
        "ox.jit(ox.numpy.sin).trace(ox.ShapeDtypeStruct((2,), 'float32')).lower().as_text()\n"
        "print(*[m for m in sys.modules if m.startswith('jaxlib.mlir.dialects.')])"
    )
    loaded = {name.rpartition(".")[2] for name in done(code).stdout.split()}
    assert "func" in loaded and loaded & {"stablehlo", "chlo", "mhlo"} == set()


def test_a_record_of_the_analysis_is_imported_without_the_analyses() -> None:
    loaded = done("import sys; from olympus.analysis import Estimate; print(*sys.modules)")
    modules = {name for name in loaded.stdout.split() if name.startswith("olympus_core.analysis.")}
    plain = {"hlo", "hlo.cpu_peaks", "records"}  # `import olympus` needs the second
    assert modules == {f"olympus_core.analysis.{name}" for name in plain}


def test_modules_for_the_end_of_a_build_are_imported_during_compilation(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text("def f(x): return 2 * x\n")
    (tmp_path / "olympus.toml").write_text('[target.f]\nentry = "m:f"\nargs.x = "f32[2]"\n')
    code = (
        "import os, sys\n"
        "from olympus_cli.history import recording\n"
        "record = recording.record_build\n"
        "def watched(*given):\n"
        "    before = set(sys.modules)\n"
        "    record(*given)\n"
        "    late = sorted(set(sys.modules) - before)\n"
        "    os.write(2, f'{late} {\"sqlite3\" in before}\\n'.encode())\n"
        "recording.record_build = watched\n"
        f"sys.argv = ['olympus', 'build', '--project', {str(tmp_path)!r}]\n"
        "from olympus_cli.__main__ import main\n"
        "main()\n"
    )
    # the second build has nothing to record
    assert [done(code).stderr for _ in "ab"] == ["[] True\n", ""]
