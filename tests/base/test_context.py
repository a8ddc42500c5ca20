"""The context: what a thread has of its own is declared once, and keys the traced programs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import olympus
import olympus_core
from olympus_core.base import context
from olympus_core.base.context import SWITCHES, Context, state, surroundings, switched

CORE = Path(olympus_core.__file__).parent

#: another value than the default, for each value that a traced program depends on
OTHERS = {
    "allow_f16_reductions": False,
    "auto_pcast": False,
    "annotations": (("tag", "1"),),
    "default_device": "a device",
    "axes": (("i", 2),),
    "default_matmul_precision": "highest",
    "default_prng_impl": "rbg",
    "disable_jit": True,
    "enable_custom_prng": True,
    "enable_x64": True,
    "entered_meshes": ("a mesh",),
    "include_full_tracebacks_in_locations": True,
    "keeps_indices": True,
    "mesh": "a mesh",
    "no_collectives": frozenset("i"),
    "numpy_dtype_promotion": "strict",
    "numpy_rank_promotion": "raise",
    "remove_size_one_mesh_axis_from_type": True,
    "scope": "outer",
    "softmax_custom_jvp": True,
    "source": "a line",
    "threefry_partitionable": False,
    "unrecorded_axes": frozenset("x"),
    "user_contexts": (("a context", 1),),
}


@pytest.mark.parametrize("name", list(Context.__annotations__))
def test_traced_programs_are_keyed_by_what_they_depend_on(name: str) -> None:
    before = surroundings()
    with switched(name, OTHERS.get(name, not getattr(state, name))):
        assert (surroundings() != before) is (name in OTHERS)
    assert surroundings() == before


def test_every_switch_has_a_context_and_is_an_option() -> None:
    assert [f"jax_{name}" for name in SWITCHES] == list(olympus.config.values)
    for name in SWITCHES:
        assert callable(getattr(olympus, name))


def test_nothing_else_is_a_threads_own() -> None:
    """A value beside the context would not be among the surroundings."""
    for path in CORE.rglob("*.py"):
        if path == Path(context.__file__):
            continue
        names = {
            node.attr if isinstance(node, ast.Attribute) else node.name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute | ast.alias)
        }
        assert not names & {"local", "ContextVar", "contextvars"}, path
