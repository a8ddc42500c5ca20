"""What `help` and an editor show: the types of public functions, and of the methods of arrays."""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import olympus as ox
from olympus_core.array import DeviceArray
from olympus_core.library import methods
from olympus_core.library.numpy.indexing.at import IndexUpdateHelper, IndexUpdateRef
from olympus_core.library.random.keys import KeyArray

ROOT = Path(__file__).parents[2]
NAMESPACES = [
    "olympus",
    "olympus.ad_checkpoint",
    "olympus.custom_derivatives",
    "olympus.dtypes",
    "olympus.experimental",
    "olympus.flatten_util",
    "olympus.lax",
    "olympus.lax.linalg",
    "olympus.nn",
    "olympus.nn.initializers",
    "olympus.numpy",
    "olympus.numpy.fft",
    "olympus.numpy.linalg",
    "olympus.random",
    "olympus.scipy.linalg",
    "olympus.scipy.special",
    "olympus.scipy.stats.norm",
    "olympus.stages",
    "olympus.test_util",
    "olympus.tree",
    "olympus.tree_util",
]
#: the functions of trees, in `tree` and as `tree_...` in `tree_util`
TREES = (
    "all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce "
    "reduce_associative structure transpose unflatten"
)
#: the functions that take or give anything, by `Any`: why, for each
ANYTHING = {
    "olympus.closure_convert": "the arguments of a user's function",
    "olympus.custom_derivatives.closure_convert": "the arguments of a user's function",
    "olympus.eval_shape": "the arguments of a user's function, and its tree",
    "olympus.jvp": "the arguments of a user's function, and their tangents",
    "olympus.lax.cond": "operands of a user's functions",
    "olympus.lax.fori_loop": "the index is an int or an array, as the bounds are",
    "olympus.lax.map": "a tree, of which the function gets rows",
    "olympus.lax.platform_dependent": "operands of a user's functions",
    "olympus.lax.scan": "a tree, of which the function gets rows",
    "olympus.lax.switch": "operands of a user's functions",
    "olympus.linear_transpose": "the arguments of a user's function",
    "olympus.linearize": "the arguments of a user's function",
    "olympus.make_jaxpr": "the tree of shapes of a user's function",
    "olympus.make_olympuspr": "the tree of shapes of a user's function",
    "olympus.numpy.apply_along_axis": "more arguments of a user's function, and its tree",
    "olympus.numpy.array": "nested sequences, and whatever NumPy makes an array of",
    "olympus.numpy.asarray": "as array",
    "olympus.numpy.block": "lists of lists, however deep",
    "olympus.numpy.from_dlpack": "an array of any library",
    "olympus.numpy.frombuffer": "a buffer, which has no type before Python 3.12",
    "olympus.numpy.fromfunction": "more arguments of a user's function, and its tree",
    "olympus.numpy.iscomplexobj": "a question about any object",
    "olympus.numpy.isrealobj": "a question about any object",
    "olympus.numpy.isscalar": "a question about any object",
    "olympus.numpy.iterable": "a question about any object",
    "olympus.numpy.pad": "the options of a mode",
    "olympus.numpy.piecewise": "more arguments of the user's functions",
    "olympus.stages.Lowered.compiler_ir": "an object of MLIR's bindings, which have no types",
    "olympus.stages.StagedFunction.arguments": "the arguments of a user's function",
    "olympus.stages.checked_options": "what is checked",
    "olympus.test_util.check_grads": "the arguments of a user's function",
    "olympus.test_util.check_jvp": "the arguments of a user's function",
    "olympus.test_util.check_vjp": "the arguments of a user's function",
    "olympus.tree.static": "the options of dataclasses.field, and what that gives",
    "olympus.tree_util.is_tree_node": "a question about any object",
    "olympus.tree_util.keystr": "keys of containers, of any class",
    "olympus.tree_util.register_pytree_node": "children of containers",
    "olympus.tree_util.register_pytree_with_keys": "children of containers, and their keys",
    "olympus.typeof": "whatever has a type: arrays, and objects with a shape and a dtype",
    "olympus.value_and_grad": "a gradient is a tree like the arguments",
    "olympus.vjp": "the arguments of a user's function",
    "olympus.vmap": "axes are tree prefixes",
    "olympus.xla_computation": "parts are tree prefixes",
    "olympus.device_get": "a tree",
    "olympus.device_put": "a tree",
    "olympus.flatten_util.ravel_pytree": "a tree",
    "olympus.lax.reduce": "a tree",
    "olympus.lax.reduce_window": "a tree",
    "olympus.tree_util.all_leaves": "a tree",
    "olympus.tree_util.flatten_one_level": "a tree",
    "olympus.tree_util.flatten_one_level_with_keys": "a tree",
    **{f"olympus.tree.{name}": "a tree" for name in TREES.split()},
    **{f"olympus.tree_util.tree_{name}": "a tree" for name in TREES.split()},
}
#: the type of a function whose result is not known
FUNCTION = re.compile(r"Callable\[(?:\.\.\.|_P|\[[^\[\]]*\]), (?:Any|ArrayLike)\]")


def functions(namespace: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a namespace that are ours, and the methods of its classes."""
    module = importlib.import_module(namespace)
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("olympus"):
            continue
        if inspect.isclass(value):
            for method, function in vars(value).items():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{namespace}.{name}.{method}", function
        elif callable(value) and hasattr(value, "__name__"):
            yield f"{namespace}.{name}", value


def untyped(function: Callable[..., Any]) -> list[str]:
    """The parameters, and "return", that have no type, or `Any` but as a user's function's."""
    signature = inspect.signature(function)
    types = {p.name: p.annotation for p in signature.parameters.values() if p.name != "self"}
    types["return"] = signature.return_annotation
    return [
        name
        for name, type_ in types.items()
        if type_ is inspect.Parameter.empty or re.search(r"\bAny\b", FUNCTION.sub("", str(type_)))
    ]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_functions_say_what_they_take_and_give(namespace: str) -> None:
    found = {name: untyped(function) for name, function in functions(namespace)}
    assert found
    missing = {name: what for name, what in found.items() if what and name not in ANYTHING}
    assert not missing
    reasons = [name for name in ANYTHING if name.rpartition(".")[0] == namespace]
    assert [name for name in reasons if not found[name]] == []


@pytest.mark.parametrize("cls", [IndexUpdateHelper, IndexUpdateRef])
def test_updates_say_what_they_take_and_give(cls: type) -> None:
    found = {name: untyped(f) for name, f in vars(cls).items() if inspect.isfunction(f)}
    assert not {n: what for n, what in found.items() if what and not n.startswith("_")}


def declared(file: str, class_: str) -> dict[str, ast.FunctionDef]:
    """The methods and properties that a class has for type checkers alone."""
    module = ast.parse((ROOT / "olympus_core" / file).read_text(encoding="utf-8"))
    node = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == class_)
    block = next(n for n in node.body if isinstance(n, ast.If))
    return {node.name: node for node in block.body if isinstance(node, ast.FunctionDef)}


DECLARED = declared("tracer.py", "Array")
OF_KEYS = declared("library/random/keys.py", "KeyArray")
OPERATORS = {f"__{side}{name}__" for name in methods._OPERATORS for side in ("", "r")}
OPERATORS |= {f"__{name}__" for name in methods._COMPARISONS}
#: without a declaration, a type checker refuses `x[0] = 1`, which raises
UNDECLARED = {"__setitem__"}
ATTACHED = {name: f for name, f in methods._METHODS.items() if name not in UNDECLARED}
OF_DEVICES = DECLARED.keys() - OPERATORS - ATTACHED.keys() - methods._PROPERTIES.keys()


def signature(node: ast.FunctionDef) -> inspect.Signature:
    """The signature that a declaration has, with annotations as they are written."""
    node.decorator_list = []
    scope: dict[str, Any] = {}
    module = ast.Module([node], type_ignores=[])
    flags = __future__.annotations.compiler_flag
    exec(compile(module, "tracer.py", "exec", flags=flags, dont_inherit=True), scope)
    return inspect.signature(scope[node.name])


def parts(signature: inspect.Signature) -> list[Any]:
    """What there is of parameters after the array itself, and of the result."""
    rest = list(signature.parameters.values())[1:]
    types = [str(p.annotation) for p in rest]
    return [[(p.name, p.kind, p.default) for p in rest], types, signature.return_annotation]


@pytest.mark.parametrize("name", ATTACHED)
def test_methods_are_declared_with_the_signatures_that_they_have(name: str) -> None:
    assert parts(signature(DECLARED[name])) == parts(inspect.signature(ATTACHED[name]))


@pytest.mark.parametrize("name", OF_KEYS)
def test_methods_of_keys_are_declared_with_the_signatures_that_they_have(name: str) -> None:
    value = vars(KeyArray)[name]
    if isinstance(value, property):
        assert methods._PROPERTIES[name] is value.fget
    else:
        *wanted, result = parts(inspect.signature(value))
        assert (result, parts(signature(OF_KEYS[name]))) == ("Array", [*wanted, "KeyArray"])


def test_operators_and_properties_are_declared() -> None:
    assert DECLARED.keys() >= OPERATORS | methods._PROPERTIES.keys()
    for name in OPERATORS:
        (other,) = list(signature(DECLARED[name]).parameters.values())[1:]
        assert (other.kind, other.annotation) == (inspect.Parameter.POSITIONAL_ONLY, "ArrayLike")


@pytest.mark.parametrize("name", sorted(OF_DEVICES))
def test_what_else_is_declared_arrays_on_a_device_have(name: str) -> None:
    value = vars(DeviceArray)[name]
    if not isinstance(value, property):
        assert parts(signature(DECLARED[name]))[0] == parts(inspect.signature(value))[0]


def test_help_shows_types() -> None:
    assert str(inspect.signature(ox.numpy.add)) == "(x: 'ArrayLike', y: 'ArrayLike', /) -> 'Array'"
    text = str(inspect.signature(ox.scipy.special.betaln))
    assert text == "(a: 'ArrayLike', b: 'ArrayLike') -> 'Array'"
