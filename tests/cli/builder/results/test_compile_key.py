"""The key of a compilation: everything that the result depends on, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import olympus_core
from olympus.analysis import Relocation
from olympus.artifact import Host
from olympus.errors import ArtifactError
from olympus_cli.builder.results import compile_key as module
from olympus_cli.builder.results.compile_key import CompileKey, compile_key, numbered_lines
from olympus_cli.program.stages import Program
from olympus_cli.spec.resolve import Request

PROGRAM = """\
import olympus
import olympus.numpy as np


def f(x):
    y = np.tanh(x)
    return y * 2 + np.sin(y)
"""


SHARDED = """\
import olympus
from olympus.sharding import Mesh, NamedSharding, PartitionSpec, expect_devices

expect_devices(2)
d = olympus.devices()[:2]
where = NamedSharding(Mesh({devices}, ("x",)), PartitionSpec("x"))


def f(x):
    return olympus.lax.with_sharding_constraint(x * 2, where)
"""


def key_of(folder: Path, text: str = PROGRAM) -> CompileKey:
    """The key of a program in a new file."""
    name = f"program{len([*folder.glob('*.py')])}"
    (folder / f"{name}.py").write_text(text)
    program = Program.of(Request(f"{name}.py:f", "f32[4]").spec(), until="lower")
    return compile_key(program.spec, program.units[0])


def test_files_lines_and_names_of_arguments_are_not_in_the_key(folder: Path) -> None:
    base = key_of(folder)
    moved = key_of(
        folder, "# a comment\n" + PROGRAM.replace("f(x)", "f(z)").replace("h(x)", "h(z)")
    )
    assert moved.digest == base.digest
    assert [line + 1 for _, line in base.lines] == [line for _, line in moved.lines]
    assert {file for file, _ in base.lines} == {"program0.py"}


def test_the_order_of_the_devices_is_in_the_key(folder: Path) -> None:
    """The executable has it, and the program does not."""
    keys = [key_of(folder, SHARDED.format(devices=order)) for order in ("d", "d[::-1]", "d[:]")]
    assert keys[0].digest != keys[1].digest
    assert keys[0].digest == keys[2].digest


@pytest.mark.parametrize(
    "change",
    [
        ("* 2", "* 3"),
        ("return y * 2", "y2 = y * 2\n    return y2"),  # operations of one line at two
        ("y = np.tanh(x)", "y  = np.tanh(x)"),  # another column
        ("    y =", "    with olympus.named_scope('a'):\n        y ="),
        ("def f", "g = lambda x: x\n\n\ndef f"),
    ],
    ids=["constant", "split line", "column", "scope", "other code"],
)
def test_a_changed_program_has_another_key(change: tuple[str, str], folder: Path) -> None:
    base = key_of(folder)
    changed = key_of(folder, PROGRAM.replace(*change))
    assert (changed.digest == base.digest) is (change[0] == "def f")


def test_the_key_has_the_options_the_environment_and_the_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "program.py").write_text(PROGRAM)
    program = Program.of(Request("program.py:f", "f32[4]").spec(), until="lower")
    (unit,), spec = program.units, program.spec
    keys = [compile_key(spec, unit).digest]
    assert compile_key(replace(spec, name="other", entry="other:g"), unit).digest == keys[0]
    options = {"xla_cpu_enable_fast_math": True}
    keys.append(compile_key(replace(spec, compiler_options=options), unit).digest)
    keys.append(compile_key(replace(spec, optimize="fast-build"), unit).digest)
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
        keys.append(compile_key(spec, unit).digest)
    with monkeypatch.context() as patch:
        patch.setattr(module, "driver_digest", lambda: "of another checkout of OLYMPUS")
        keys.append(compile_key(spec, unit).digest)
    host = replace(Host.here(), cpu_features=())
    monkeypatch.setattr(Host, "here", lambda: host)
    keys.append(compile_key(spec, unit).digest)
    assert len({*keys}) == len(keys) == 6


def test_the_digest_covers_the_modules_that_read_a_compiler_s_figures() -> None:
    from olympus_core.xla.runtime.driver_digest import driver_files

    modules = {path.relative_to(Path(olympus_core.__file__).parent) for path in driver_files()}
    names = ("xla/runtime/compiler.py", "xla/hlo/hlo_module.py", "xla/proto/buffer_assignment.py")
    more = ("xla/targets/devices.toml", "stages/compiled.py")
    assert {*map(Path, (*names, *more))} <= modules


def test_lines_are_numbered_in_the_order_of_their_first_occurrence() -> None:
    text = (
        '#loc1 = loc("/a/b.py":7:3)\n#loc2 = loc("/a/c.py":7:3)\n#loc3 = loc("/a/b.py":7:9)\n'
        '#loc4 = loc("f/tanh"(#loc1))\n#loc5 = loc("/a/\\22.py":1:1)\n  "text":1:2)\n'
    )
    numbered, lines = numbered_lines(text)
    assert lines == (("/a/b.py", 7), ("/a/c.py", 7))
    assert numbered.splitlines() == [
        '#loc1 = loc("0":0:3)',
        '#loc2 = loc("1":1:3)',
        '#loc3 = loc("0":0:9)',
        *text.splitlines()[3:],
    ]


def test_lines_of_another_program_are_not_relocated() -> None:
    with pytest.raises(ArtifactError, match="different programs"):
        Relocation.of_lines([("a", 1)], [])
    with pytest.raises(ArtifactError, match="different programs"):
        Relocation.of_lines([("a", 1), ("a", 2)], [("b", 1), ("c", 2)])
    assert not Relocation.of_lines([("a", 1)], [("a", 1)]).is_needed
