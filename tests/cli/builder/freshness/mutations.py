"""Random changes of everything that a project depends on, each followed by a build.

After each build with the index, all targets are traced without it: each must be fresh. `run` does
this in a process that forks its workers, as the command does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

MODEL = """\
import os
from pathlib import Path

import numpy
import tool

import olympus.numpy as np
from helper import scaled
from pack.part import shifted

DATA = numpy.load(Path(__file__).with_name("data.npy"))
SCALE = float(os.environ.get("MUTATED_SCALE", "1"))
CONSTANT = 1.0


def f(x):
    return shifted(scaled(x * DATA)) * SCALE * CONSTANT * tool.VERSION
"""
OTHER = """\
import json
import os
from pathlib import Path

import olympus.numpy as np

CONSTANT = 1.0


def g(x, layers=1):
    folder = Path(__file__).parent
    try:
        settings = json.loads((folder / "settings.json").read_text())
    except OSError:
        settings = {"shift": 0.0}
    for _ in range(layers):
        x = np.sin(x) + settings["shift"]
    if (folder / "flag").exists():
        x = x * 2.0
    return -x if os.getenv("MUTATED_MODE") == "negative" else x * CONSTANT
"""
HELPER = "CONSTANT = 1.0\n\n\ndef scaled(x):\n    return x * CONSTANT\n"
PART = "CONSTANT = 1.0\n\n\ndef shifted(x):\n    return x + CONSTANT\n"
TOML = """\
[target.f]
entry = "model:f"
args = ["f32[3]"]

[target.g]
entry = "other:g"
args = ["f32[3]"]
static = { layers = 2 }

[target.h]
entry = "other:g"
args = ["f32[5]"]
"""
SOURCES = ("model.py", "other.py", "helper.py", "pack/part.py")


class Project:
    """A project in `folder`, with the changes that can be made to it, and a generator for them."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        import numpy

        self.folder, self.draw, self._numpy = folder, draw, numpy
        self.tools = folder.parent / "lib/site-packages"
        (folder / "pack").mkdir(parents=True)
        self.tools.mkdir(parents=True)
        texts = (MODEL, OTHER, HELPER, PART, "", TOML)
        names = (*SOURCES, "pack/__init__.py", "olympus.toml")
        for name, text in zip(names, texts, strict=True):
            (folder / name).write_text(text)
        numpy.save(folder / "data.npy", numpy.arange(3.0))
        self.write_tool(1)
        sys.path.append(str(self.tools))

    def write_tool(self, version: int) -> None:
        for old in self.tools.glob("tool-*"):
            shutil.rmtree(old)
        (self.tools / "tool.py").write_text(f"VERSION = {version}\n")
        metadata = self.tools / f"tool-{version}.0.dist-info"
        metadata.mkdir()
        (metadata / "RECORD").write_text(f"tool.py,sha256={version},12\n")
        (metadata / "METADATA").write_text(f"Name: tool\nVersion: {version}.0\n")

    def source(self) -> Path:
        return self.folder / self.draw.choice(SOURCES)

    def change_constant(self) -> None:
        path = self.source()
        lines = path.read_text().splitlines(keepends=True)
        value = self.draw.choice((1.0, 2.0, 3.0))
        new = [f"CONSTANT = {value}\n" if line.startswith("CONSTANT") else line for line in lines]
        path.write_text("".join(new))

    def change_constant_and_keep_its_time(self) -> None:
        path = self.source()
        before = path.stat()
        path.write_text(path.read_text().replace("CONSTANT = 1.0", "CONSTANT = 4.0"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def add_comment(self) -> None:
        path = self.source()
        path.write_text(f"# {self.draw.random()}\n{path.read_text()}")

    def touch(self) -> None:
        self.source().touch()

    def replace_by_a_copy(self) -> None:
        path = self.source()
        copy = path.with_suffix(".new")
        shutil.copyfile(path, copy)
        copy.replace(path)

    def change_data(self) -> None:
        value = self.draw.randrange(3)
        self._numpy.save(self.folder / "data.npy", self._numpy.arange(3.0) + value)

    def change_settings(self) -> None:
        path = self.folder / "settings.json"
        if self.draw.random() < 0.3:
            path.unlink(missing_ok=True)
        else:
            path.write_text(json.dumps({"shift": self.draw.choice((0.0, 1.5))}))

    def change_flag(self) -> None:
        flag = self.folder / "flag"
        if flag.exists():
            flag.unlink()
        else:
            flag.touch()

    def change_variable(self) -> None:
        name, values = self.draw.choice(
            (("MUTATED_SCALE", ("1", "2", "3")), ("MUTATED_MODE", ("negative", "other")))
        )
        if self.draw.random() < 0.3:
            os.environ.pop(name, None)
        else:
            os.environ[name] = self.draw.choice(values)

    def shadow_a_module(self) -> None:
        package = self.folder / "helper"
        if package.exists():
            shutil.rmtree(package)
        else:
            package.mkdir()
            (package / "__init__.py").write_text("def scaled(x):\n    return x / 7.0\n")

    def change_version(self) -> None:
        self.write_tool(self.draw.randrange(1, 4))

    def change_static(self) -> None:
        layers = self.draw.randrange(1, 4)
        text = "\n".join(
            f"static = {{ layers = {layers} }}" if line.startswith("static") else line
            for line in (self.folder / "olympus.toml").read_text().splitlines()
        )
        (self.folder / "olympus.toml").write_text(text + "\n")

    def damage_the_index(self) -> None:
        path = self.folder / "build/.olympus-index.json"
        if path.exists() and self.draw.random() < 0.5:
            content = bytearray(path.read_bytes())
            content[self.draw.randrange(len(content))] = self.draw.randrange(256)
            path.write_bytes(content)
        else:
            path.unlink(missing_ok=True)

    def damage_an_output(self) -> None:
        folder = self.folder / "build" / self.draw.choice("fgh")
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if files:
            path = self.draw.choice(files)
            path.write_bytes(path.read_bytes()[:-1])

    def move(self) -> None:
        moved = self.folder.with_name(f"moved{self.draw.randrange(10**9)}")
        self.folder.rename(moved)
        self.folder = moved

    def change(self) -> str:
        """Make one change, drawn at random; return its name."""
        changes: list[Callable[[], None]] = [
            *(self.change_constant, self.change_constant_and_keep_its_time, self.add_comment),
            *(self.touch, self.replace_by_a_copy, self.change_data, self.change_settings),
            *(self.change_flag, self.change_variable, self.shadow_a_module, self.change_version),
            *(self.change_static, self.damage_the_index, self.damage_an_output, self.move),
        ]
        chosen = self.draw.choice(changes)
        chosen()
        return chosen.__name__


def run(folder: str, seed: int, steps: int) -> None:
    """Change the project, build it and trace it without the index, `steps` times."""
    from olympus_cli.builder.driver import Selected, build
    from olympus_cli.builder.plan import Options
    from olympus_cli.process import own_process
    from olympus_cli.spec.resolve import open_project

    own_process.claim()
    project = Project(Path(folder).resolve() / "project", random.Random(seed))
    history: list[str] = []
    skipped = 0
    for _ in range(steps):
        for _ in range(project.draw.choice((1, 1, 2))):
            history.append(project.change())
        time.sleep(0.03)  # a file that changes while it is traced is traced again
        opened = open_project(project.folder)
        specs = {spec.name: spec for spec in opened.select(())}
        selected = Selected("all", opened.root, opened.files, opened.targets.keys())
        outcomes = build(specs, opened.build_dir, Options(use=None), selected=selected)
        skipped += sum(outcome.unchanged != "" for outcome in outcomes)
        truth = build(specs, opened.build_dir, Options(frozen=True, use=None))
        wrong = [outcome for outcome in truth if outcome.status != "fresh"]
        if wrong:
            reasons = [f"{outcome.target}: {outcome.reason}" for outcome in wrong]
            sys.exit(f"seed {seed}, after {history[-9:]}: {reasons}")
    sys.stdout.write(json.dumps({"steps": steps, "skipped": skipped}))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
