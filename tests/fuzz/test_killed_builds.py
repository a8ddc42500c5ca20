"""Builds killed at a drawn moment: what they leave, what readers see, and the next build."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from olympus import artifact
from olympus.errors import ArtifactError
from olympus_cli.builder.freshness.index import INDEX
from olympus_cli.builder.manifest import Manifest, intact
from tests.fuzz.conftest import Fuzz

PROGRAM = "def f(x):\n    return x * {0}.0\n\n\ndef g(x):\n    return x + {0}.0\n"
TOML = "".join(f'[target.{name}]\nentry = "m:{name}"\nargs = ["f32[4]"]\n' for name in "fg")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VICTIMS = ("build", "worker", "group")

#: The exit codes in README.md of a build that a signal ends, or that continues without a worker.
#: A negative one is the signal itself, before the command has begun or where it
#: cannot handle it.
ENDS = {0, 4, 130, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT}

_MARK = "OLYMPUS_FUZZ_CASE"
_PATIENCE = 120.0  # seconds, for what is certain to happen unless there is a defect


@dataclass(frozen=True)
class Place:
    """A project, its temporary folder, and the processes that are started for it."""

    folder: Path

    @property
    def build(self) -> Path:
        """The build folder."""
        return self.folder / "build"

    def start(self) -> subprocess.Popen[str]:
        """A build in a group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "olympus_cli", "build", "-j", "2"],
            cwd=self.folder,
            env={
                **os.environ,
                _MARK: str(self.folder),
                "PYTHONPATH": os.pathsep.join(sys.path),
                "TMPDIR": str(self.folder / "tmp"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[int]:
        """All that were started for this case and live, children's children too."""
        mark = f"{_MARK}={self.folder}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    variables = (entry / "environ").read_bytes().split(b"\0")
                except OSError:  # it has ended
                    continue
                if mark in variables:
                    found.append(int(entry.name))
        return sorted(found)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, float]:
    """A project whose targets are built, and how many seconds that took."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "tmp").mkdir()
    (folder / "olympus.toml").write_text(TOML)
    (folder / "m.py").write_text(PROGRAM.format(0))
    place, start = Place(folder), time.monotonic()
    with place.start() as first:
        output, _ = first.communicate(timeout=_PATIENCE)
    assert first.returncode == 0, output
    return place, time.monotonic() - start


class Reader(threading.Thread):
    """Reads the outputs of one target again and again, as a program that uses them would."""

    def __init__(self, target: Path) -> None:
        super().__init__()
        self.target = target
        self.wrong: list[str] = []
        self.looks = 0
        self._enough = threading.Event()

    def run(self) -> None:
        """Check the target until `end` is called."""
        while not self._enough.wait(0.001):  # the build needs the processor too
            self.looks += 1
            try:
                before = self.target.stat().st_ino
                whole = not damage(self.target)
                same = before == self.target.stat().st_ino
            except OSError as error:
                self.wrong.append(f"{self.target} does not exist: {error}")
                continue
            if same and not whole:
                self.wrong.append(f"{self.target} is half written")

    def end(self) -> None:
        """No more looks."""
        self._enough.set()
        self.join()


def damage(target: Path) -> list[str]:
    """Return the outputs of a target that are missing or changed."""
    try:
        files = Manifest.read(target).files
    except ArtifactError as error:
        return [str(error)]
    return [file.path for file in files if not intact(target, file)]


def constant(target: Path) -> int:
    """Return the version of the program that the outputs of a target come from."""
    text = (target / "program.stablehlo.mlir").read_text()
    return int(float(text.partition("dense<")[2].partition(">")[0]))


def kill(place: Place, process: subprocess.Popen[str], rng: random.Random) -> str:
    """Send a drawn signal to a drawn process, or to all; what was done, in words."""
    number, victim = rng.choice(SIGNALS), rng.choice(VICTIMS)
    workers = [pid for pid in place.processes() if pid != process.pid]
    draw = rng.random()
    try:
        if victim == "group":
            os.killpg(process.pid, number)
        elif victim == "build":
            process.send_signal(number)
        elif workers:
            os.kill(workers[int(draw * len(workers))], number)
    except ProcessLookupError:  # it has ended by itself
        pass
    return f"{number.name} to the {victim}"


@contextmanager
def read_meanwhile(targets: list[Path]) -> Iterator[list[Reader]]:
    """Readers of the targets for as long as the context lasts."""
    readers = [Reader(target) for target in targets]
    for reader in readers:
        reader.start()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.end()


def killed(place: Place, after: float, rng: random.Random) -> tuple[int, str]:
    """Start a build, kill what is drawn, wait for the end of all; the exit code and the story."""
    with place.start() as process:
        try:
            time.sleep(after)
            killing = kill(place, process, rng)
            output, _ = process.communicate(timeout=_PATIENCE)
            patient_until = time.monotonic() + _PATIENCE
            while (left := place.processes()) and time.monotonic() < patient_until:
                time.sleep(0.01)
        finally:
            for pid in place.processes():  # a failing test leaves none either
                os.kill(pid, signal.SIGKILL)
    killing = f"{killing}; the build ended with {process.returncode} and printed\n{output}"
    assert left == [], killing
    # Python itself prints one where SIGINT comes before the command has begun
    assert "Traceback" not in output or process.returncode == -signal.SIGINT, killing
    return process.returncode, killing


def test_killed_builds(fuzz: Fuzz, built: tuple[Place, float]) -> None:
    """The old outputs or the new ones, whole, are there at any time; the next build succeeds."""
    place, seconds = built
    targets = [place.build / name for name in "fg"]
    for seed in fuzz.seeds(5):
        rng = random.Random(seed)
        old = [constant(target) for target in targets]
        new = max(old) + 1
        (place.folder / "m.py").write_text(PROGRAM.format(new))
        with read_meanwhile(targets) as readers:
            code, case = killed(place, rng.random() * seconds, rng)
        case = f"seed {seed}: {case}"
        assert code in ENDS, case
        for target, reader, before in zip(targets, readers, old, strict=True):
            assert reader.looks > 0
            assert reader.wrong == [], case
            assert damage(target) == [], case
            assert constant(target) in (before, new), case
        build_again(place, targets, new, case)


def build_again(place: Place, targets: list[Path], new: int, case: str) -> None:
    """The build after a killed one: it succeeds, clears up, and what it leaves verifies."""
    with place.start() as again:
        output, _ = again.communicate(timeout=_PATIENCE)
    assert again.returncode == 0, f"{case}\nand then\n{output}"
    there = {path.name for path in place.build.iterdir()} - {"history.sqlite", INDEX}
    assert there == {"f", "g"}, case
    assert list((place.folder / "tmp").iterdir()) == [], case
    for target in targets:
        assert damage(target) == [], case
        assert constant(target) == new, case
        assert artifact.load(target / f"{target.name}.olympus").manifest.name == target.name
