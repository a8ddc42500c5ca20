"""Programs that do what no program should, beside one that is innocent and must be built.

A seed chooses a few ingredients, and whether each is met at import or while the function is traced.
Whatever they do: the build ends, with a documented exit code, the innocent target is built with the
right result, and no process is left.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.conftest import Fuzz

ROOT = Path(__file__).parents[2]
COUNT = 8
TIME_LIMIT = 4  # seconds for a target: a target that never ends takes as long

#: Statements of a hostile program, by name; `x` is the traced argument, in a function.
INGREDIENTS = {
    "forks": "os.fork()",
    "forks and goes on in the child": "if os.fork() == 0: time.sleep(600)",
    "forks many": "for _ in range(5): os.fork()",
    "a fork that fails": "if os.fork() == 0: raise RuntimeError('in the child')",
    "executes another program": "os.execv('/bin/true', ['true'])",
    "executes one that sleeps": "os.execv('/bin/sleep', ['sleep', '600'])",
    "a child that sleeps": "subprocess.Popen(['sleep', '600'])",
    "a shell in the background": "os.system('sleep 600 & sleep 601 &')",
    "a daemon": "subprocess.Popen(['setsid', 'sleep', '600'], start_new_session=True)",
    "a daemon by two forks": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n"
        "    os._exit(0)"
    ),
    "a pool of processes": "multiprocessing.get_context('fork').Pool(2).map(abs, [-1, 1])",
    "threads": "[threading.Thread(target=time.sleep, args=(600,)).start() for _ in range(3)]",
    "a daemon thread": "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "writes to descriptors": (
        "for n in range(3, 64):\n    try: os.write(n, b'junk' * 64)\n    except OSError: pass"
    ),
    "writes lengths to descriptors": (
        "for n in range(3, 64):\n    try: os.write(n, b'\\0\\0\\0\\x7f')\n    except OSError: pass"
    ),
    "closes descriptors": "os.closerange(3, 256)",
    "closes its streams": "os.closerange(0, 3)",
    "closes stdout": "sys.stdout.close()",
    "streams of None": "sys.stdout = sys.stderr = sys.stdin = None",
    "reads stdin": "sys.stdin.read()",
    "prints much": "os.write(1, b'x' * 10_000_000)",
    "prints bytes that are not text": "os.write(2, bytes(range(256)) * 40)",
    "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "os.abort()",
    "a fault of memory": "ctypes.string_at(0)",
    "terminates itself": "os.kill(os.getpid(), signal.SIGTERM)",
    "interrupts itself": "os.kill(os.getpid(), signal.SIGINT)",
    "signals its group": "os.killpg(0, signal.SIGTERM)",
    "ignores signals": "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15, 17)]",
    "blocks signals": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "an alarm": "signal.alarm(1)",
    "leaves": "sys.exit()",
    "leaves with a number": "sys.exit(70)",
    "leaves immediately": "os._exit(0)",
    "leaves immediately with 70": "os._exit(70)",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises GeneratorExit": "raise GeneratorExit",
    "raises a class of its own": "raise type('Odd', (BaseException,), {})('odd')",
    "raises what has no text": (
        "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})()"
    ),
    "raises MemoryError": "raise MemoryError",
    "raises what the build raises": "raise olympus.errors.OlympusError('mine')",
    "raises StopIteration": "raise StopIteration",
    "recursion": "def deeper(): return deeper() + 1\ndeeper()",
    "a low limit of recursion": "sys.setrecursionlimit(60)",
    "never ends": "while True: pass",
    "never ends and hears nothing": (
        "while True:\n    try: time.sleep(1)\n    except BaseException: pass"
    ),
    "goes elsewhere": "os.chdir('/')",
    "takes its folder away": "os.makedirs('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "an empty path": "sys.path.clear()",
    "no modules": "sys.modules.clear()",
    "no environment": "os.environ.clear()",
    "other built-ins": "import builtins; builtins.len = lambda _: 0",
    "built-ins gone": "import builtins; del builtins.isinstance",
    "another os": "os._exit = os.getpid = os.write = lambda *_: 7",
    "another pickle": "import pickle; pickle.dumps = lambda *_: b''",
    "another numpy": "import numpy; numpy.dtype = numpy.asarray = None",
    "an end that fails": "atexit.register(lambda: 1 / 0)",
    "an end that kills": "atexit.register(os.kill, os.getpid(), 9)",
    "an end that never comes": "atexit.register(time.sleep, 600)",
    "eats memory under a limit": (
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); bytearray(4 << 30)"
    ),
    "a limit of files": "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "a limit of what is written": "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))",
    "a limit of time": "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
    "a mask of nothing": "os.umask(0o777)",
    "leaves the session": "try: os.setsid()\nexcept OSError: os.setpgid(0, 0)",
    "a trace function": "sys.settrace(lambda *_: 1 / 0)",
    "no collector": "gc.disable(); gc.freeze()",
}
HEAD = (
    "import atexit, ctypes, gc, multiprocessing, os, resource, signal, subprocess, sys, threading\n"
    "import time\nimport olympus\n"
)
TOML = '[target.{0}]\nentry = "{0}:f"\nargs = ["f32[2]"]\n'
INNOCENT = "import olympus.numpy as np\ndef f(x): return np.tanh(x) * 3\n"
DOCUMENTED = (0, 2, 3, 4)  # a process that dies, or a program that fails; 70 is a defect of ours
COMMAND = [sys.executable, "-m", "olympus_cli"]


def program(rng: random.Random) -> tuple[str, str]:
    """A hostile module, and the names of what is in it."""
    names = rng.sample(sorted(INGREDIENTS), rng.choice((1, 1, 2, 3)))
    at_import = [name for name in names if rng.random() < 0.25]
    lines = [INGREDIENTS[name] for name in at_import]
    body = "\n".join(INGREDIENTS[name] for name in names if name not in at_import) or "pass"
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return "\n".join([HEAD, *lines, f"def f(x):\n{indented}\n    return x + 1\n"]), str(names)


def left_behind(mark: str) -> list[str]:
    """The command lines of the processes that have the mark in the environment they began with."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                if mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text())
            except OSError:  # it has ended, or is not ours to read
                continue
    return found


def none_left(mark: str) -> bool:
    """Return True if no process is left; the kernel may take a moment to remove killed ones."""
    for _ in range(100):
        if not left_behind(mark):
            return True
        time.sleep(0.02)
    return False


def test_an_innocent_target_is_built_beside_any_program(tmp_path: Path, fuzz: Fuzz) -> None:
    for seed in fuzz.seeds(COUNT):
        rng = random.Random(seed)
        source, names = program(rng)
        what = f"seed {seed}: {names}"
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "hostile.py").write_text(source)
        (folder / "innocent.py").write_text(INNOCENT)
        targets = rng.sample(("hostile", "innocent"), 2)
        (folder / "olympus.toml").write_text("".join(map(TOML.format, targets)))
        mark = f"OLYMPUS_FUZZ={os.getpid()}-{seed}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OLYMPUS_FUZZ": mark.split("=")[1]}
        build = ["build", "--json", "-j", rng.choice("12"), "--time-limit", str(TIME_LIMIT)]
        done = subprocess.run(
            [*COMMAND, *build],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )
        case = f"{what}: {done.stderr[-2000:].decode(errors='replace')}"
        assert done.returncode in DOCUMENTED, case
        assert b"defect" not in done.stderr, case
        outcomes = {each["target"]: each for each in json.loads(done.stdout)["targets"]}
        assert outcomes["innocent"]["status"] == "built", case
        program_text = (folder / "build" / "innocent" / "program.olympuspr").read_text()
        assert "tanh" in program_text and "mul" in program_text, case
        failed = outcomes["hostile"]["status"] == "failed"
        assert (done.returncode != 0) == failed, case
        assert sorted(path.name for path in (folder / "build").iterdir()) == (
            [".olympus-index.json", "history.sqlite", "innocent"]
            if failed
            else [".olympus-index.json", "history.sqlite", "hostile", "innocent"]
        ), case
        assert none_left(mark), f"{what} left {left_behind(mark)}"
