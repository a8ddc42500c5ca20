"""The command as a process: Ctrl-C at any point, and streams in any state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "olympus_cli"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}

Started = Callable[..., subprocess.Popen[str]]

PROGRAM = """\
import atexit
import os

from olympus import lax, tree_util


@tree_util.register_pytree_node_class
class Box:
    def __init__(self, x):
        self.x = x

    def tree_flatten(self):
        print("flattened")
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def boxed(x):
    return Box(x)


def forever(x):
    return lax.while_loop(lambda i: i > -1, lambda i: i * 0 + 1.0, x)


def loud(x):
    os.write(1, b"by number\\n")
    os.system("echo by a child")
    atexit.register(print, "at the end")
    return x


def leaves(x):
    os.chdir("elsewhere")
    return x


def fails(x):
    raise ValueError("no")
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "m.py").write_text(PROGRAM)
    (folder / "elsewhere").mkdir()
    return folder


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell, in which OLYMPUS is replaced by the command."""
    return subprocess.run(
        ["bash", "-c", line.replace("OLYMPUS", " ".join(COMMAND))],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_interrupt_of_an_import_is_a_short_line(tmp_path: Path, started: Started) -> None:
    # the first imported module, in place of C extensions that a KeyboardInterrupt breaks
    endless = "import sys\nprint('ready', file=sys.stderr, flush=True)\n"
    endless += "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n"
    (tmp_path / "click.py").write_text(endless)
    path = f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"
    process = started(
        COMMAND, env={**ENVIRONMENT, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=60)[1], process.returncode) == ("interrupted\n", 130)


@pytest.mark.parametrize("command", ["run", pytest.param("bench", marks=pytest.mark.night)])
def test_an_interrupt_ends_a_running_program(work: Path, command: str, started: Started) -> None:
    process = started(
        [*COMMAND, command, "m:forever", "--shapes", "f32[]"],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    lines = process.communicate(timeout=60)[1].splitlines()
    notes = [line for line in lines if line.startswith("note: the measuring of")]
    assert len(notes) == (command == "bench")
    assert ([line for line in lines if line not in notes], process.returncode) == (
        ["interrupted"],
        130,
    )


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("OLYMPUS trace m:loud --shapes 'f32[2]' >/dev/full", 2, "No space left on device"),
        ("OLYMPUS trace --help >/dev/full", 2, "No space left on device"),
        ("OLYMPUS --help >/dev/full", 2, "No space left on device"),
        ("OLYMPUS trace m:forever --shapes 'f32[]' >&-", 0, ""),
        ("OLYMPUS doctor >&-", 0, ""),
        ("OLYMPUS compile m:forever --shapes 'f32[]' <&- >&- 2>&-", 0, ""),
        ("OLYMPUS trace m:fails --shapes 'f32[2]' 2>&-", 3, ""),
        ("OLYMPUS trace m:fails --shapes 'f32[2]' 2>/dev/full", 3, ""),
        ("OLYMPUS trace --wrong 2>/dev/full", 2, ""),
        ("OLYMPUS --help | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("OLYMPUS run --help | true; exit ${PIPESTATUS[0]}", 141, ""),
    ],
)
def test_streams_that_are_closed_or_full(work: Path, line: str, code: int, words: str) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "defect" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["trace", "lower", "run"])
def test_stdout_has_only_data(work: Path, command: str) -> None:
    done = shell(f"OLYMPUS {command} m:loud --shapes 'f32[2]' --json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert [done.stderr.count(words) for words in ("number", "child", "the end")] == [1, 1, 1]


def test_a_program_may_leave_the_folder(work: Path) -> None:
    shapes = "--shapes 'x=f32[2]'"
    done = shell(
        f"OLYMPUS run m:leaves {shapes} -o out.npz && OLYMPUS trace m:leaves {shapes} -o t"
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in work.iterdir()} >= {"out.npz", "t"}
    again = shell(f"OLYMPUS run m:leaves {shapes} --inputs out.npz")
    assert again.returncode == 0, again.stderr  # the bundle was read: the result is the value of x


def test_file_names_that_are_no_utf_8(work: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "trace", "m:forever", "--shapes", "f32[]", "--json", "-o", b"out\xe9"],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert os.fsencode(json.loads(done.stdout.decode())["output"]) == b"out\xe9"
    assert (work / os.fsdecode(b"out\xe9")).exists()


def test_a_program_in_a_file_with_a_name_that_is_no_utf_8(work: Path) -> None:
    Path(os.fsdecode(b"caf\xe9.py")).write_text("def f(x): return 2 * x\n")
    done = subprocess.run(
        [*COMMAND, "compile", b"caf\xe9.py:f", "--shapes", "f32[]"],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert rb"caf\\xe9.py" in (work / "build" / "f" / "cpu" / "optimized.hlo.txt").read_bytes()


@pytest.mark.parametrize("command", ["run", "bench"])
def test_flags_that_the_compiler_rejects(work: Path, command: str) -> None:
    done = shell(f"XLA_FLAGS=--nonsense OLYMPUS {command} m:loud --shapes 'f32[2]'")
    assert done.returncode == 4
    assert done.stderr.startswith("error: the compiler does not take the XLA_FLAGS")
    assert "Unknown flag in XLA_FLAGS: --nonsense" in done.stderr


def test_containers_of_results_may_print(work: Path) -> None:
    done = shell("OLYMPUS run m:boxed --shapes 'f32[2]' --json")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert "flattened" in done.stderr


WAITING = """
import select, signal, threading, time
from olympus_cli.process import interrupts

def interrupt():
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # not the thread that waits

interrupts.install()
threading.Thread(target=interrupt).start()
try:
    with interrupts.interrupts_raised():
        select.select([], [], [])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_before_a_wait_ends_it() -> None:
    """As one that arrives just before the wait begins, which no test can time."""
    done = subprocess.run(
        [sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "interrupted\n"


AROUND_A_FORK = """
import os, sys, time

def kill():
    os.kill(os.getpid(), {number})
    time.sleep(0.1)  # the handler runs in here

os.register_at_fork({when}=kill)
sys.argv = ["olympus", "trace", "program:boxed", "--shapes", "f32[4]"]
from olympus_cli.__main__ import main
main()
"""


@pytest.mark.parametrize("when", ["before", "after_in_parent"])
@pytest.mark.parametrize(
    ("number", "end"),
    [(signal.SIGINT, (130, "interrupted\n")), (signal.SIGTERM, (143, "terminated\n"))],
)
def test_a_signal_during_a_fork_is_not_lost(
    work: Path, when: str, number: signal.Signals, end: tuple[int, str]
) -> None:
    """Python drops exceptions in the functions that it calls around a fork."""
    code = AROUND_A_FORK.format(number=int(number), when=when)
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=work, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == end
