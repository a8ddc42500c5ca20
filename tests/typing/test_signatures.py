"""The types of public functions and array methods, as `help` and an editor show them."""

from __future__ import annotations
import __future__

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NewType

import pytest

import olympus as ox
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.library import methods
from olympus_core.library.numpy.indexing.at import IndexUpdateHelper, IndexUpdateRef
from olympus_core.library.random.keys import KeyArray
from tests.typing.untyped import ANYTHING

ROOT = Path(__file__).parents[2]
#: all modules that users import, without the contract of primitives, which accepts any type
NAMESPACES = ["olympus"] + [
    module.name
    for module in pkgutil.walk_packages(ox.__path__, "olympus.")
    if not module.name.startswith(
        (
            "olympus.api_util",
            "olympus.core",
            "olympus.extend",
            "olympus.ffi",
            "olympus.interpreters",
        )
    )
]
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
        elif callable(value) and hasattr(value, "__name__") and not isinstance(value, NewType):
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


def test_public_functions_have_types_of_parameters_and_results() -> None:
    public = [pair for namespace in NAMESPACES for pair in functions(namespace)]
    found = {name: " ".join(untyped(function)) for name, function in public}
    wanted = {name: parameters for name, (parameters, _) in ANYTHING.items()}
    assert {name: parameters for name, parameters in found.items() if parameters} == wanted


@pytest.mark.parametrize("cls", [IndexUpdateHelper, IndexUpdateRef])
def test_updates_have_types_of_parameters_and_results(cls: type) -> None:
    found = {name: untyped(f) for name, f in vars(cls).items() if inspect.isfunction(f)}
    assert not {n: what for n, what in found.items() if what and not n.startswith("_")}


def declared(file: str, class_: str) -> dict[str, ast.FunctionDef]:
    """The methods and properties that a class has for type checkers alone."""
    module = ast.parse((ROOT / "olympus_core" / file).read_text(encoding="utf-8"))
    node = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == class_)
    block = next(n for n in node.body if isinstance(n, ast.If))
    return {node.name: node for node in block.body if isinstance(node, ast.FunctionDef)}


DECLARED = declared("ir/tracer.py", "Array")
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
    """Return the parameters after the array itself, and the type of the result."""
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


@pytest.mark.parametrize(
    "name",
    [
        *("ArrayLike", "ArrayOrKeys", "ArraySequence", "ArraysOrKeys", "Axis", "DTypeLike"),
        *("IndexLike", "KeyArray", "KeyLike", "NestedArrayLike", "ShapeLike"),
    ],
)
def test_types_that_help_shows_can_be_imported(name: str) -> None:
    assert getattr(ox.typing, name) | None
