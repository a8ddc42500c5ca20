"""Trees against jax.tree and jax.tree_util: the same calls on the same containers."""

from __future__ import annotations

import collections
import dataclasses
import functools
import pickle
from typing import Any, NamedTuple

import jax
import pytest

import olympus
import olympus.tree
import olympus.tree_util as ours
from olympus_core.base.errors import SignatureError, TreeError

theirs = jax.tree_util
BOTH = pytest.mark.parametrize("util", [ours, theirs], ids=["olympus", "jax"])


class Point(NamedTuple):
    x: Any
    y: Any


TREES = {
    "leaf": 1,
    "none": None,
    "empty": [],
    "tuple": (1, (2, 3), [4]),
    "dict": {"b": 1, "a": {"d": [2], "c": 3}},
    "ordered": collections.OrderedDict(b=1, a=[2, 3]),
    "defaultdict": collections.defaultdict(list, {"b": [1], "a": 2}),
    "namedtuple": Point(1, Point(2, None)),
}
EACH = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


@EACH
def test_flatten_agrees_with_the_oracle(tree: Any) -> None:
    leaves, treedef = olympus.tree.flatten(tree)
    expected, expected_def = jax.tree.flatten(tree)
    assert leaves == expected
    assert str(treedef) == str(expected_def)
    assert olympus.tree.unflatten(treedef, leaves) == tree
    assert olympus.tree.leaves(tree) == expected
    assert olympus.tree.structure(tree) == treedef
    assert ours.treedef_is_leaf(treedef) == theirs.treedef_is_leaf(expected_def)
    assert list(map(str, ours.treedef_children(treedef))) == list(
        map(str, theirs.treedef_children(expected_def))
    )


@EACH
def test_paths_agree_with_the_oracle(tree: Any) -> None:
    def text(util: Any) -> list[Any]:
        return [(util.keystr(p), x) for p, x in util.tree_leaves_with_path(tree)]

    assert text(ours) == text(theirs)
    mapped = ours.tree_map_with_path(lambda p, x, y: (len(p), x + y), tree, tree)
    assert mapped == theirs.tree_map_with_path(lambda p, x, y: (len(p), x + y), tree, tree)


@EACH
def test_reductions_agree_with_the_oracle(tree: Any) -> None:
    join = lambda a, b: f"({a}{b})"  # noqa: E731
    for name, extra in [
        ("reduce", {"initializer": "0"}),
        ("reduce_associative", {"identity": "0"}),
        ("all", {}),
    ]:
        args = (tree,) if name == "all" else (join, tree)
        assert getattr(olympus.tree, name)(*args, **extra) == getattr(jax.tree, name)(
            *args, **extra
        )


@pytest.mark.parametrize("n", range(1, 9))
def test_associative_reduction_pairs_as_the_oracle(n: int) -> None:
    join = lambda a, b: f"({a}{b})"  # noqa: E731
    tree = list("abcdefgh"[:n])
    assert olympus.tree.reduce_associative(join, tree) == jax.tree.reduce_associative(join, tree)


@pytest.mark.parametrize("name", ["reduce", "reduce_associative"])
def test_a_reduction_of_nothing_needs_a_start(name: str) -> None:
    with pytest.raises(TypeError):
        getattr(olympus.tree, name)(lambda a, b: a, [])


@BOTH
def test_the_first_tree_of_a_map_may_be_a_prefix(util: Any) -> None:
    assert util.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"a": [3], "b": None}) == {
        "a": (1, [3]),
        "b": (2, None),
    }
    assert util.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]
    with pytest.raises(ValueError, match=r"(?i)tuple"):
        util.tree_map(lambda x, y: x, (1, 2), (1, 2, 3))


@BOTH
def test_broadcast_spreads_a_prefix(util: Any) -> None:
    assert util.tree_broadcast((1, None, 2), ([0, {"a": 0}], None, 0)) == ([1, {"a": 1}], None, 2)
    with pytest.raises(ValueError, match="different lengths of tuple at key path\n    broadcast"):
        util.tree_broadcast((1, 2), (1, 2, 3))


@BOTH
def test_transpose_swaps_outer_and_inner(util: Any) -> None:
    outer = util.tree_structure([0, 0])
    assert util.tree_transpose(outer, None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    inner = util.tree_structure({"a": 0})
    assert util.tree_transpose(outer, inner, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    with pytest.raises(TypeError):
        util.tree_transpose(outer, None, [(1, 2), (3,)])


def test_transpose_of_an_empty_outer_tree_needs_the_inner_treedef() -> None:
    empty = ours.tree_structure([])
    with pytest.raises(SignatureError, match="inner_treedef"):
        ours.tree_transpose(empty, None, [])
    assert ours.tree_transpose(empty, ours.tree_structure((0, 0)), []) == ([], [])


@BOTH
def test_one_level_and_classes(util: Any) -> None:
    children, aux = util.flatten_one_level({"a": [1, 2], "b": 3})
    assert (tuple(children), aux) == (([1, 2], 3), ("a", "b"))
    pairs, _ = util.flatten_one_level_with_keys([5])
    assert [(str(k), v) for k, v in pairs] == [("[0]", 5)]
    with pytest.raises(ValueError, match="int"):
        util.flatten_one_level(3)
    classes = [int, 3, list, tuple, dict, type(None), util.Partial, Point]
    assert [util.is_tree_node(c) for c in classes] == [False, False] + [True] * 6
    assert util.all_leaves([1, "a"])
    assert not util.all_leaves([1, None])


@BOTH
def test_keystr(util: Any) -> None:
    path = (util.DictKey("a"), util.SequenceKey(1), util.GetAttrKey("b"), util.FlattenedIndexKey(2))
    assert util.keystr(path) == "['a'][1].b[<flat index 2>]"
    assert util.keystr(path, simple=True, separator="/") == "a/1/b/2"


@BOTH
def test_treedefs_are_pickled(util: Any) -> None:
    treedef = util.tree_structure({"a": (1, None), "b": util.Partial(max, 1)})
    assert pickle.loads(pickle.dumps(treedef)) == treedef


@BOTH
def test_treedefs_compose(util: Any) -> None:
    leaf, pair = util.tree_structure(1), util.tree_structure([1, 2])
    assert util.treedef_tuple([leaf, pair]) == util.tree_structure((1, [1, 2]))


@BOTH
def test_classes_with_methods_become_containers(util: Any) -> None:
    @util.register_pytree_node_class
    class Plain:
        def __init__(self, x: Any, tag: str) -> None:
            self.x, self.tag = x, tag

        def tree_flatten(self) -> Any:
            return (self.x,), self.tag

        @classmethod
        def tree_unflatten(cls, tag: str, children: Any) -> Any:
            return cls(*children, tag)

    @util.register_pytree_with_keys_class
    class Keyed(Plain):
        def tree_flatten_with_keys(self) -> Any:
            return ((util.GetAttrKey("x"), self.x),), self.tag

    for cls, path in ((Plain, "[<flat index 0>]"), (Keyed, ".x")):
        doubled = util.tree_map(lambda x: 2 * x, cls((1, 2), "t"))
        assert (type(doubled), doubled.x, doubled.tag) == (cls, (2, 4), "t")
        assert util.keystr(util.tree_leaves_with_path(cls(1, "t"))[0][0]) == path
    with pytest.raises(ValueError, match=r"(?i)duplicate"):
        util.register_pytree_node_class(Plain)


@BOTH
def test_functions_register_containers(util: Any) -> None:
    class Box:
        def __init__(self, x: Any) -> None:
            self.x = x

    class Other(Box):
        pass

    util.register_pytree_node(Box, lambda b: ((b.x,), None), lambda _, xs: Box(*xs))
    util.register_pytree_with_keys(
        Other, lambda b: (((util.DictKey("x"), b.x),), None), lambda _, xs: Other(*xs)
    )
    assert util.tree_leaves([Box(1), Other([2, 3])]) == [1, 2, 3]
    assert util.keystr(util.tree_leaves_with_path(Other(1))[0][0]) == "['x']"


@BOTH
def test_static_classes_have_no_leaves(util: Any) -> None:
    @util.register_static
    class Name(str):
        __slots__ = ()

    leaves, treedef = util.tree_flatten([1, Name("a")])
    assert leaves == [1]
    assert util.tree_unflatten(treedef, [2]) == [2, Name("a")]
    assert treedef != util.tree_structure([1, Name("b")])


def test_dataclass_fields_marked_static_are_not_leaves() -> None:
    for namespace, util in ((olympus.tree, ours), (jax.tree, theirs)):

        @util.register_dataclass
        @dataclasses.dataclass
        class Layer:
            w: Any
            name: str = namespace.static(default="l", metadata={"unit": 1})

        assert util.tree_leaves(Layer(1)) == [1]
        assert util.tree_map(lambda x: x + 1, Layer(1, "m")) == Layer(2, "m")
        assert dataclasses.fields(Layer)[1].metadata["unit"] == 1


def test_partial_holds_its_arguments_as_leaves() -> None:
    partial = ours.Partial(pow, 2, mod=7)
    assert ours.tree_leaves(partial) == theirs.tree_leaves(theirs.Partial(pow, 2, mod=7)) == [2, 7]
    assert ours.tree_map(lambda x: x + 1, partial)(2) == 3**2 % 8


def test_the_registry_is_olympus_own() -> None:
    class Mine:
        pass

    ours.register_pytree_node(Mine, lambda m: ((), None), lambda _, xs: Mine())
    assert ours.is_tree_node(Mine)
    assert not theirs.is_tree_node(Mine)
    assert ours.default_registry is not theirs.default_registry


class Plain:
    pass


BUILT_IN = {
    "tuple": (type("Mine", (tuple,), {}), (1, 2)),
    "list": (type("Mine", (list,), {}), [1, 2]),
    "dict": (type("Mine", (dict,), {}), {"a": 1, "b": 2}),
    "OrderedDict": (type("Mine", (collections.OrderedDict,), {}), {"a": 1, "b": 2}),
    "defaultdict": (type("Mine", (collections.defaultdict,), {}), None),
    "namedtuple": (collections.namedtuple("Mine", "a b"), None),
    "NamedTuple": (NamedTuple("Mine", [("a", int), ("b", int)]), None),
}


@BOTH
@pytest.mark.parametrize(("base", "content"), BUILT_IN.values(), ids=BUILT_IN)
def test_a_subclass_of_a_built_in_container_may_be_registered(
    util: Any, base: Any, content: Any
) -> None:
    cls = type("Own", (base,), {})  # each package registers its own class
    if issubclass(base, tuple) and hasattr(base, "_fields"):
        value = cls(1, 2)
    else:
        value = cls() if content is None else cls(content)
    util.register_pytree_node(cls, lambda x: (("child", len(x)), "kept"), lambda aux, xs: (aux, xs))
    assert util.tree_leaves(value) == ["child", len(value)]
    assert util.tree_unflatten(util.tree_structure(value), [3, 4]) == ("kept", (3, 4))
    with pytest.raises(ValueError, match=r"(?i)duplicate"):
        util.register_pytree_node(cls, lambda x: ((), None), lambda aux, xs: None)


@BOTH
def test_a_registered_named_tuple_may_hold_static_data(util: Any) -> None:
    class State(NamedTuple):
        count: Any
        name: str

    assert util.tree_leaves(State(1, "s")) == [1, "s"]
    util.register_pytree_node(State, lambda s: ((s.count,), s.name), lambda n, c: State(*c, n))
    assert util.tree_map(lambda x: x + 1, {"s": State(1, "s")}) == {"s": State(2, "s")}


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


UNSORTED = {"a": 1, 2: 3}
MISTAKES = {
    "keys that cannot be sorted": (
        lambda util: util.tree_map(lambda x: x, {"k": UNSORTED}),
        "Comparator raised exception while sorting pytree dictionary keys",
    ),
    "keys, with paths": (
        lambda util: util.tree_flatten_with_path(UNSORTED),
        "a dict in a tree needs keys that can be sorted",
    ),
    "keys of a defaultdict": (
        lambda util: util.tree_leaves(collections.defaultdict(list, UNSORTED)),
        "a dict in a tree needs keys that can be sorted",
    ),
    "map of another structure": (
        lambda util: util.tree_map(lambda x, y: x, {"a": 1}, {"b": 1}),
        "  the structure: PyTreeDef({'a': *})\n  the tree's:    PyTreeDef({'b': *})",
    ),
    "map of a shorter list": (
        lambda util: util.tree_map(lambda x, y: x, [1, 2], [1]),
        "pytree structure error: different lengths of list at key path\n    tree_map tree",
    ),
    "map of None": (
        lambda util: util.tree_map(lambda x, y: x, None, 1),
        "pytree structure error: different types at key path\n    tree_map tree",
    ),
    "map with paths": (
        lambda util: util.tree_map_with_path(lambda p, x, y: x, (1, 2), 3),
        "Expected tuple, got 3.",
    ),
    "broadcast": (
        lambda util: util.tree_broadcast((1, 2), [1, 2]),
        "  the structure: PyTreeDef((*, *))\n  the tree's:    PyTreeDef([*, *])",
    ),
    "too few leaves": (
        lambda util: util.tree_unflatten(util.tree_structure((1, 2)), [1]),
        "Too few leaves for PyTreeDef; expected 2, got 1",
    ),
    "too many leaves": (
        lambda util: util.tree_unflatten(util.tree_structure((1, 2)), iter("abc")),
        "Too many leaves for PyTreeDef; expected 2",
    ),
    "transpose of another outer tree": (
        lambda util: util.tree_transpose(util.tree_structure((1, 2)), None, (1,)),
        "the structure: PyTreeDef((*, *))",
    ),
    "transpose of another inner tree": (
        lambda util: util.tree_transpose(util.tree_structure([0, 0]), None, [(1, 2), (3,)]),
        "Mismatch\nPyTreeDef([(*, *), (*,)])\n != \nPyTreeDef([(*, *), (*, *)])",
    ),
    "a class registered twice": (
        lambda util: util.register_pytree_node(dict, lambda x: x, lambda x: x),
        "Duplicate custom PyTreeDef type registration for <class 'dict'>",
    ),
    "fields of no dataclass": (
        lambda util: util.register_dataclass(Plain),
        f"are required when nodetype is not a dataclass. Got nodetype={Plain}",
    ),
    "fields left out": (
        lambda util: util.register_dataclass(Pair, ["a"], []),
        "fields with ``init=True`` and only them. Missing fields: {'b'}.",
    ),
    "one list of fields": (
        lambda util: util.register_dataclass(Pair, data_fields=["a", "b"]),
        "must both be specified when either is specified. Got data_fields=['a', 'b']",
    ),
    "a field in both lists": (
        lambda util: util.register_dataclass(Pair, ["a", "b"], ["b"]),
        "data_fields and meta_fields must not overlap. Overlapping fields: {'b'}.",
    ),
    "no container": (
        lambda util: util.flatten_one_level(3),
        "can't tree-flatten type: <class 'int'>",
    ),
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_of_olympus_and_of_the_class_of_jax(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs_raised:
        call(theirs)
    with pytest.raises(TreeError) as caught:
        call(ours)
    assert message in str(caught.value)
    assert isinstance(caught.value, theirs_raised.type)


def test_a_partial_keeps_the_arguments_of_one_that_it_wraps() -> None:
    for util in (theirs, ours):
        wrapped = functools.partial(max, 1)
        partial = util.Partial(wrapped, 3)
        assert (partial(2), partial.args) == (3, (3,))
        assert util.tree_leaves(partial) == [3]
        assert hash(partial.func) == hash(wrapped)
        assert partial.func == wrapped == util.Partial(wrapped).func


def test_exceptions_of_a_class_of_the_user_are_raised() -> None:
    class Broken:
        pass

    def flatten(_: Any) -> Any:
        raise ValueError("mine")

    ours.register_pytree_node(Broken, flatten, lambda _, xs: Broken())
    with pytest.raises(ValueError, match=r"^mine$"):
        ours.tree_leaves(Broken())


@pytest.mark.parametrize("tree", [TREES["ordered"], TREES["defaultdict"]], ids=type)
def test_ordered_and_default_dicts_pass_through_transformations(tree: Any) -> None:
    arrays = ours.tree_map(float, tree)
    for call in (
        lambda package: package.jit(lambda t: t)(arrays),
        lambda package: package.grad(lambda t: sum(package.tree.leaves(t)))(arrays),
        lambda package: package.lax.scan(lambda c, _: (c, c), arrays, None, length=2)[1],
    ):
        mine, expected = call(olympus), call(jax)
        assert type(mine) is type(expected) is type(tree)
        assert str(olympus.tree.structure(mine)) == str(jax.tree.structure(expected))
        for x, y in zip(olympus.tree.leaves(mine), jax.tree.leaves(expected), strict=True):
            assert x.tolist() == y.tolist()
