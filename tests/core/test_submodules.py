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


def printed(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout


def test_an_import_leaves_them_out():
    loaded = printed("import sys, olympus; print(*sys.modules, sep='\\n')").splitlines()
    assert "olympus.numpy" in loaded
    assert not set(ON_DEMAND) & set(loaded)
    assert not [m for m in loaded if m.startswith("olympus_core") and "linalg" in m]


@pytest.mark.parametrize("name", ON_DEMAND)
def test_naming_one_brings_it_in(name: str):
    assert printed(f"import olympus; print({name}.__name__)").strip() == name
    package, _, last = name.rpartition(".")
    assert printed(f"from {package} import {last}; print({last}.__name__)").strip() == name
    assert last in printed(f"import olympus; print(dir({package}))")


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match=r"'olympus\.numpy' has no attribute 'linalgg'") as e:
        olympus.numpy.linalgg  # noqa: B018
    assert (e.value.name, e.value.obj) == ("linalgg", olympus.numpy)
