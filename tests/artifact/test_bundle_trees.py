"""Tree structures of arguments and results are written as data and read again."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import pytest

import olympus
from olympus import artifact, tree, tree_util
from olympus.artifact import Node
from olympus.errors import UsageError
from tests.artifact.bundles import python, save, struct

Point = collections.namedtuple("Point", "x y")


class Sub(Point):
    """A subclass, which may have methods."""


@tree_util.register_pytree_node_class
class Box:
    """A container that a user registered."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def tree_flatten(self) -> tuple[Any, None]:
        return self.items, None

    @classmethod
    def tree_unflatten(cls, _: None, items: Any) -> Box:
        return cls(*items)


SAME = [
    0,
    None,
    (),
    (1, (2,), [3, None]),
    {"b": 1, "a": {"c": []}},
    {2: 1, 10: 3},
    collections.OrderedDict(z=1, a=(2, 3)),
    [Point(1, Point(None, {"k": 2}))],
    {"rng": olympus.random.key(0)},
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_a_tree_is_restored(value: Any) -> None:
    structure = tree.structure(value)
    node = Node.of(structure)
    assert node.structure() == structure
    assert node.leaves() == structure.num_leaves
    json.dumps(node.to_data())


def test_a_defaultdict_is_restored_as_a_dict() -> None:
    value = collections.defaultdict(int, {"b": 1, "a": (2,)})
    assert Node.of(tree.structure(value)).structure() == tree.structure(dict(value))


def test_a_class_of_the_user_is_restored_as_a_tuple() -> None:
    node = Node.of(tree.structure([Box(1, {"a": 2}), 3]))
    assert node.structure() == tree.structure([(1, {"a": 2}), 3])
    assert node.items[0].type == f"{__name__}:Box"


def test_a_registered_named_tuple_is_restored_as_a_tuple() -> None:
    state = collections.namedtuple("State", "count name")
    tree_util.register_pytree_node(state, lambda s: ((s[0],), s[1]), lambda n, c: state(*c, n))
    assert Node.of(tree.structure(state(1, "s"))).structure() == tree.structure((1,))


@pytest.mark.parametrize(
    "type_", ["nowhere:Point", "os:path.join", ":", "{}:Pint", "{}:Box", "{}:SAME", "{}:Box.items"]
)
def test_a_namedtuple_of_a_missing_class_is_restored_with_its_fields(type_: str) -> None:
    type_ = type_.format(__name__)
    node = Node("namedtuple", (Node("leaf"), Node("leaf")), ("x", "y"), type_)
    assert node.structure() == node.structure()
    value = tree.unflatten(node.structure(), (1, 2))
    assert (value, value.x, value.y) == ((1, 2), 1, 2)
    assert type(value) is not Point


def test_a_namedtuple_with_other_fields_gets_a_new_class() -> None:
    node = Node("namedtuple", (Node("leaf"), Node("leaf")), ("x", "z"), f"{__name__}:Point")
    assert tree.unflatten(node.structure(), (1, 2)).z == 2


@pytest.mark.parametrize("fields", [("x", "x y"), ("class", "y"), ("_x", "y"), ("", "y")])
def test_a_namedtuple_with_invalid_fields_is_restored_as_a_tuple(fields: tuple[str, str]) -> None:
    node = Node("namedtuple", (Node("leaf"), Node("leaf")), fields, "nowhere:Point")
    assert node.structure() == tree.structure((1, 2))


def test_a_subclass_of_a_namedtuple_is_restored() -> None:
    structure = tree.structure(Sub(1, 2))
    assert Node.of(structure).structure() == structure


def test_a_type_is_never_imported() -> None:
    source = """
import sys, olympus
from olympus.artifact import Node
before = set(sys.modules)
leaf = Node("leaf")
for type_ in ("olympus:scipy.stats.x", "olympus.scipy:special", "xml.dom:Node", "antigravity:x"):
    Node("namedtuple", (leaf, leaf), ("x", "y"), type_).structure()
print(sorted(set(sys.modules) - before))
"""
    assert python(source, Path.cwd()) == "[]\n"


def nested(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def test_trees_that_are_too_deep_are_refused(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return nested(100, tree.leaves(x)[0])

    path = save(tmp_path / "f.olympus", olympus.jit(f).trace(nested(98, struct())))
    assert len(tree.leaves(artifact.load(path).compiled()(nested(98, 1.0)))) == 1
    for levels in (101, 350):
        traced = olympus.jit(lambda x, n=levels: nested(n, x)).trace(struct())
        with pytest.raises(UsageError, match="nested more than 100 deep cannot be stored"):
            save(tmp_path / "g.olympus", traced)


@pytest.mark.parametrize("key", [(1, 2), True, 1.5])
def test_keys_that_cannot_be_saved_are_refused(tmp_path: Path, key: Any) -> None:
    traced = olympus.jit(lambda d: d[key]).trace({key: struct()})
    with pytest.raises(UsageError, match=r"a dict with the key .* cannot be stored in a bundle"):
        save(tmp_path / "f.olympus", traced)
