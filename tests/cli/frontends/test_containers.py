"""Arguments that are tables by field name: named tuples, dataclasses and registered classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olympus.errors import SpecError
from olympus_cli.frontends.containers import container_class, item_kind
from olympus_cli.frontends.loading import load_target
from olympus_cli.spec.resolve import Request
from tests.cli.conftest import Invoke

MODULE = """
from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, Optional, TypedDict, TypeVar

import olympus
import olympus.numpy as np
from olympus.tree_util import register_dataclass, register_pytree_node_class

if TYPE_CHECKING:
    from nowhere import Nothing


class Layer(NamedTuple):
    w: Any
    b: Any = 0.0


class State(NamedTuple):
    params: dict[str, Layer]
    step: Any
    extra: tuple[Layer, ...] = ()


@register_dataclass
@dataclasses.dataclass
class Data:
    layer: Layer
    rate: Nothing = 1.0
    name: str = dataclasses.field(default="x", metadata=dict(static=True))


@register_pytree_node_class
class Own:
    def __init__(self, scale, layer: Layer = None):
        if getattr(scale, "shape", None) == (0,):
            raise ValueError("the scale is empty")
        self.scale, self.layer = scale, layer

    def tree_flatten(self):
        return (self.scale, self.layer), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        made = object.__new__(cls)
        made.scale, made.layer = children
        return made


class Other:
    def __init__(self, a):
        self.a = a


olympus.tree_util.register_pytree_node(Other, lambda o: ((o.a,), None), lambda _, c: Other(*c))


@dataclasses.dataclass
class Plain:
    a: Any


class Named(TypedDict):
    layer: Layer


def named(state: State):
    x = state.params["first"].w @ state.params["first"].b
    return State(state.params, state.step + 1, state.extra), x.sum()


def data(d: Optional[Data]):
    assert type(d) is Data and type(d.layer) is Layer, d
    return d.layer.w * d.rate


def own(o: Annotated[Own, "scaled"], more: list[Layer] | None = None):
    assert type(o) is Own and (o.layer is None or type(o.layer) is Layer)
    return o.scale + sum(layer.w for layer in more or ())


def dicts(x: Named, *rest: Layer):
    assert type(x) is dict and type(x["layer"]) is Layer and type(rest[0]) is Layer
    return x["layer"].w + rest[0].w


def free(x):
    return type(x).__name__ and (x.a if hasattr(x, "a") else x.w)


def plain(x: Plain):
    return x.a


def untyped(x: Nothing):
    return x["w"]
"""

BAD = "f32[2]"


@pytest.fixture
def classes(folder: Path) -> Path:
    (folder / "classes.py").write_text(MODULE)
    return folder


def written(folder: Path, entry: str, args: str) -> None:
    (folder / "olympus.toml").write_text(f'[target.t]\nentry = "classes:{entry}"\n{args}\n')


def traced_names(folder: Path, entry: str, args: str) -> dict[str, str]:
    written(folder, entry, args)
    traced = load_target(Request("t").spec()).trace()
    return {argument.name: str(argument.shape) for argument in traced.arguments}


W = 'w = "f32[3]"'


@pytest.mark.parametrize(
    ("entry", "args", "names"),
    [
        (
            "named",
            'args.state = { params.first = { w = "f32[2,3]", b = "f32[3]" }, step = "i32[]" }',
            ["state.params['first'].w", "state.params['first'].b", "state.step"],
        ),
        (
            "named",
            'args = [{ params = { first = { w = "f32[2,3]", b = "f32[3]" } }, step = "i32[]", '
            'extra = [{ w = "f32[]", b = "f32[]" }] }]',
            [
                *("state.params['first'].w", "state.params['first'].b", "state.step"),
                *("state.extra[0].w", "state.extra[0].b"),
            ],
        ),
        (
            "data",
            f'args.d = {{ layer = {{ {W}, b = "f32[]" }}, rate = "f32[]" }}',
            ["d.layer.w", "d.layer.b", "d.rate"],
        ),
        ("own", 'args.o = { scale = "f32[2]" }', ["o[0]"]),
        (
            "own",
            'args.o = { scale = "f32[2]" }\nargs.more = [{ w = "f32[2]", b = "f32[]" }]',
            ["o[0]", "more[0].w", "more[0].b"],
        ),
        (
            "dicts",
            f'args = [{{ layer = {{ {W}, b = "f32[]" }} }}, {{ {W}, b = "f32[]" }}]',
            ["x['layer'].w", "x['layer'].b", "rest[0].w", "rest[0].b"],
        ),
        ("free", 'args.x = { type = "classes:Other", a = "f32[2]" }', ["x[0]"]),
        ("free", f'args.x = {{ type = "classes:Layer", {W}, b = "f32[]" }}', ["x.w", "x.b"]),
        ("free", f'args.x = {{ type = "classes.py:Layer", {W}, b = "f32[]" }}', ["x.w", "x.b"]),
        ("free", 'args.x = { w = "f32[2]", type = "f32[3]" }', None),
        ("untyped", f"args.x = {{ {W} }}", ["x['w']"]),
    ],
)
def test_a_table_is_an_object_of_the_annotation(
    classes: Path, entry: str, args: str, names: list[str] | None
) -> None:
    if names is None:
        written(classes, entry, args)
        assert set(Request("t").spec().kwargs["x"]) == {"w", "type"}  # type: ignore[arg-type]
        return
    found = traced_names(classes, entry, args)
    assert [name.replace("[<flat index 0>]", "[0]") for name in found] == names


@pytest.mark.parametrize(
    ("entry", "args", "message", "hint"),
    [
        (
            "named",
            '\nargs.state = { parms = {}, step = "i32[]" }',
            "4: target.t.args.state.parms: argument state has 'parms', which is not a field of ",
            "did you mean params?",
        ),
        (
            "named",
            "[target.t.args.state]\n\nparams = {}",
            "3: target.t.args.state: argument state lacks 'step', which State needs",
            'write step = "f32[8]", or { from = "module:init" } for the argument',
        ),
        (
            "named",
            '[target.t.args.state]\nstep = "i32[]"\n'
            '[target.t.args.state.params.first]\nv = "f32[]"',
            "6: target.t.args.state.params.first.v: argument state.params.first has 'v', which is "
            "not a field of Layer",
            "its fields are b, w",
        ),
        (
            "own",
            'args.o = { scale = "f32[0]" }',
            "3: target.t.args.o: argument o is refused by Own: the scale is empty",
            'write { from = "module:init" }, a function that returns the argument',
        ),
        (
            "plain",
            'args.x = { a = "f32[2]" }',
            "3: target.t.args.x: argument x is a table for Plain, which is not a container",
            "register Plain as a container: @olympus.tree_util.register_dataclass",
        ),
        (
            "free",
            'args.x = { type = "classes:plain", a = "f32[2]" }',
            "3: target.t.args.x.type: argument x has type = 'classes:plain', which is not a class",
            "",
        ),
        (
            "free",
            'args.x = { type = "Layer", w = "f32[2]" }',
            "3: target.t.args.x.type is 'Layer', which names no class",
            'write type = "module:Class" or "path/file.py:Class"',
        ),
        (
            "free",
            'args.x = { type = "classes:Layr", w = "f32[2]" }',
            "3: target.t.args.x: classes (classes.py) has no name 'Layr'",
            "did you mean Layer?",
        ),
    ],
)
def test_a_wrong_field_is_reported_with_its_line(
    classes: Path, entry: str, args: str, message: str, hint: str
) -> None:
    written(classes, entry, args)
    with pytest.raises((SpecError, Exception)) as caught:
        load_target(Request("t").spec()).trace()
    assert str(caught.value).startswith(f"olympus.toml:{message}"), caught.value
    assert (getattr(caught.value, "hint", "") or "").startswith(hint)


def test_a_program_with_fields_runs_in_every_command(classes: Path, invoke: Invoke) -> None:
    args = 'args.state = { params.first = { w = "f32[2,3]", b = "f32[3]" }, step = "i32[]" }'
    written(classes, "named", args + '\ninputs = { "state.step" = { range = [3, 4] } }')
    for command in ("build", "run", "verify"):
        result = invoke(command, "t")
        assert result.exit_code == 0, (command, result.stderr)
    document = json.loads(invoke("trace", "t", "--json").stdout)
    assert "state.step" in json.dumps(document)
    shapes = "state={params={first={w=f32[2,3], b=f32[3]}}, step=i32[]}"
    assert invoke("trace", "classes:named", "--shapes", shapes).exit_code == 0
    result = invoke("trace", "classes:named", "--shapes", "state={stpe=i32[]}")
    assert result.exit_code == 2
    assert "error: argument state has 'stpe', which is not a field of State" in result.stderr


def test_a_container_of_jax(folder: Path, invoke: Invoke) -> None:
    module = (
        "import dataclasses\nimport jax\nimport jax.numpy as jnp\n"
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\n"
        "class S:\n    w: jax.Array\n"
        "@dataclasses.dataclass\nclass P:\n    w: jax.Array\n"
        "@jax.jit\ndef f(s: S):\n    return jnp.sin(s.w)\n"
        "@jax.jit\ndef g(s: P):\n    return jnp.sin(s.w)\n"
    )
    (folder / "j.py").write_text(module)
    target = 'args.s = { w = "f32[2]" }\n'
    text = f'[target.f]\nentry = "j:f"\n{target}[target.g]\nentry = "j:g"\n{target}'
    (folder / "olympus.toml").write_text(text)
    result = invoke("trace", "f")
    assert result.exit_code == 0, result.stderr
    result = invoke("trace", "g")
    assert "argument s is a table for P, which is not a container of arrays" in result.stderr


def test_annotations_without_one_class_are_no_container() -> None:
    from typing import NamedTuple

    class A(NamedTuple):
        x: int

    class B(NamedTuple):
        x: int

    assert container_class(A | None) is A
    assert [container_class(kind) for kind in (A | B, dict, int, "A", None)] == [None] * 5
    assert item_kind(list[A], 3) is A and item_kind(tuple[A, ...], 3) is A
    assert item_kind(tuple[A, B], 1) is B and item_kind(tuple[A, B], 2) is not B
