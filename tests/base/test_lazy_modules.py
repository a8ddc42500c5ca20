"""Submodules on demand: an import leaves them out, and naming one brings it in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import olympus

ROOT = Path(__file__).parents[2]
ON_DEMAND = [
    "olympus.artifact",
    "olympus.core",
    "olympus.debug",
    "olympus.experimental",
    "olympus.experimental.pjit",
    "olympus.experimental.shard_map",
    "olympus.extend",
    "olympus.flatten_util",
    "olympus.lax.linalg",
    "olympus.nn.initializers",
    "olympus.numpy.fft",
    "olympus.numpy.linalg",
    "olympus.ops",
    "olympus.scipy",
    "olympus.test_util",
    "olympus.typing",
]


#: Prints what each argument prints that is run in an interpreter with olympus, and a NUL after it.
IN_FORKS = """
import os, sys, traceback
import olympus
for code in sys.argv[1:]:
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        try:
            exec(code)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.waitpid(child, 0)
    print(end="\\0")
"""
FORMS = (
    "print({package}.{last}.__name__)",
    "from {package} import {last}; print({last}.__name__)",
    "print(dir({package}))",
)


def printed(code: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout


def test_an_import_leaves_them_out():
    loaded = printed("import sys, olympus; print(*sys.modules, sep='\\n')").splitlines()
    assert "olympus.numpy" in loaded
    assert not set(ON_DEMAND) & set(loaded)
    assert not [m for m in loaded if m.startswith("olympus_core") and "linalg" in m]


@pytest.fixture(scope="module")
def named() -> dict[str, list[str]]:
    """Return the output of each form of naming a submodule, in a process that names no other."""
    codes = []
    for name in ON_DEMAND:
        package, _, last = name.rpartition(".")
        codes += [form.format(package=package, last=last) for form in FORMS]
    found = printed(IN_FORKS, *codes).split("\0")
    each = iter(found)
    return {name: [next(each) for _ in FORMS] for name in ON_DEMAND}


@pytest.mark.parametrize("name", ON_DEMAND)
def test_naming_one_brings_it_in(name: str, named: dict[str, list[str]]):
    attribute, imported, listed = named[name]
    assert (attribute.strip(), imported.strip()) == (name, name)
    assert repr(name.rpartition(".")[2]) in listed


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match=r"'olympus\.numpy' has no attribute 'linalgg'") as e:
        olympus.numpy.linalgg  # noqa: B018
    assert (e.value.name, e.value.obj) == ("linalgg", olympus.numpy)
