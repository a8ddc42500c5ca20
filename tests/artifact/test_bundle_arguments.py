"""A bundle is called with arguments of the same tree structure, by position and by name."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus
from olympus import artifact, lax
from olympus.errors import SignatureError
from olympus_core.stages.direct_compiled import DirectCompiled
from tests.artifact.bundles import change_manifest, save, struct


class State(NamedTuple):
    """A class that the process which calls the bundle may lack."""

    mean: Any
    count: Any


SwappedState = collections.namedtuple("SwappedState", "count mean")
F = np.float32


def step(state: State, items: Any, x: Any, *, scale: Any) -> Any:
    left = lax.mul(lax.add(state.mean, items["a"][0]), lax.mul(x, scale))
    return State(left, lax.add(state.count, 1))


@pytest.fixture(params=["class here", "class absent"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    f, i = struct(), struct(dtype="int32")
    traced = olympus.jit(step).trace(State(f, i), {"a": [f], "b": None}, f, scale=f)
    path = save(tmp_path / "f.olympus", traced)
    if request.param == "class absent":
        change_manifest(path, rename_the_class)
    return artifact.load(path).compiled()


def rename_the_class(data: dict[str, Any]) -> None:
    signature = data["signature"]
    for node in (signature["argument_tree"]["items"][0]["items"][0], signature["result_tree"]):
        node["type"] = "nowhere:State"


ITEMS = {"a": [F(2)], "b": None}


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((State(F(1), 4), ITEMS, F(3)), {}),
        (((F(1), 4), ITEMS, F(3)), {}),
        (([F(1), 4], {"b": None, "a": (F(2),)}, 3.0), {}),
        ((), {"x": F(3), "items": ITEMS, "state": (F(1), 4)}),
        (((F(1), 4),), {"x": F(3), "items": collections.OrderedDict(ITEMS)}),
    ],
)
def test_arguments_are_passed_by_position_and_by_name(program: Any, args: Any, kwargs: Any) -> None:
    mean, count = result = program(*args, **kwargs, scale=F(2))
    assert (float(mean), int(count)) == (18.0, 5)
    assert (float(result.mean), int(result.count)) == (18.0, 5)


def test_calls_with_the_structure_of_the_program_are_direct(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = olympus.jit(lambda x, y: {"sum": x["a"] + y}).trace({"a": struct(2)}, struct(2))
    program = artifact.load(save(tmp_path / "f.olympus", traced)).compiled()
    missed: list[Any] = []
    original = DirectCompiled._missed
    monkeypatch.setattr(
        DirectCompiled, "_missed", lambda *args: missed.append(args) or original(*args)
    )
    call = program.__call__
    for again in (program, call):
        for positional in (True, False, True):
            for value in (1, 2):
                x, y = {"a": np.full(2, value, "float32")}, np.ones(2, "float32")
                result = again(x, y) if positional else again(x, y=y)
                assert result["sum"].tolist() == [value + 1] * 2
    assert len(missed) == 1 + 4  # the first one, and all by name
    del program, again
    x, y = {"a": np.ones(2, "float32")}, np.ones(2, "float32")
    assert call(y=y, x=x)["sum"].tolist() == [2, 2]  # the program was freed


STATE = (F(1), 4)
REFUSED = {
    "no field": (((F(1),), ITEMS, 3.0), {}, "state must have 2 parts, and has 1"),
    "an array": ((F(1), ITEMS, 3.0), {}, "state must be State or a tuple of its parts, and is a f"),
    "other fields": (
        (SwappedState(4, F(1)), ITEMS, 3.0),
        {},
        "state must have the fields mean, count, a",
    ),
    "no dict": ((STATE, [F(2)], 3.0), {}, "items must be a dict, and is a list"),
    "no key": ((STATE, {"b": None}, 3.0), {}, "items lacks the key 'a'"),
    "a key more": ((STATE, {**ITEMS, "c": 1}, 3.0), {}, "items has the key 'c', which it must"),
    "deep": (
        (STATE, {"a": [None], "b": None}, 3.0),
        {},
        r"items\['a'\]\[0\] must be an array, and",
    ),
    "not None": (
        (STATE, {"a": [F(2)], "b": 1}, 3.0),
        {},
        r"items\['b'\] must be None, and is an i",
    ),
    "a field": (((F(1), [4]), ITEMS, 3.0), {}, "state.count must be an array, and is a list"),
    "too few": ((STATE, ITEMS), {}, "it lacks the argument x"),
    "too many": ((STATE, ITEMS, 3.0, 4.0), {}, "it got 4 positional arguments, and takes 3"),
    "twice": ((STATE, ITEMS, 3.0), {"x": 3.0}, "it got the argument x, twice"),
    "unknown": ((STATE, ITEMS, 3.0), {"y": 3.0}, "it got the argument y, which it does not take"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_for_an_unexpected_argument_names_its_path(program: Any, name: str) -> None:
    args, kwargs, message = REFUSED[name]
    with pytest.raises(
        SignatureError, match=f"'step' cannot be called with these arguments: {message}"
    ) as caught:
        program(*args, **kwargs, scale=2.0)
    assert "PyTreeDef" not in str(caught.value)
    with pytest.raises(SignatureError, match="it lacks the argument scale"):
        program((F(1), 4), ITEMS, 3.0)


def test_a_registered_class_and_a_random_key_are_arguments(tmp_path: Path) -> None:
    @olympus.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, w: Any) -> None:
            self.w = w

        def tree_flatten(self) -> Any:
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, _: Any, children: Any) -> Any:
            return cls(*children)

    def draw(box: Any, key: Any) -> Any:
        return lax.add(box.w, olympus.random.normal(key, (2,)))

    key = olympus.random.key(3)
    path = save(tmp_path / "f.olympus", olympus.jit(draw).trace(Box(struct(2)), key))
    compiled = artifact.load(path).compiled()
    w = np.ones(2, "float32")
    expected = np.asarray(draw(Box(w), key))
    for box in (Box(w), (w,)):
        np.testing.assert_allclose(compiled(box, key), expected, rtol=1e-6)
        np.testing.assert_allclose(compiled(key=key, box=box), expected, rtol=1e-6)
