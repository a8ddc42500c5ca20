"""The Python sources in a wheel: a module with one function, and its stub with the types."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from olympus.artifact import Argument, Bundle, Node
from olympus.errors import UsageError
from olympus_cli.frontends.bundles import positional_roots

#: Names of modules that the wheel's own module needs.
_RESERVED = frozenset({"olympus_runtime", "olympus", "numpy", "jaxlib", "ml_dtypes"})


def check_name(kind: str, name: str) -> None:
    """Raise UsageError if a module or a function, `kind`, cannot have the name.

    >>> check_name("module", "my-model")
    Traceback (most recent call last):
      ...
    olympus.errors.UsageError: a module cannot be named 'my-model': it is not an identifier
    """
    reason = None
    if not name.isidentifier() or not name.isascii():
        reason = "it is not an identifier"
    elif keyword.iskeyword(name) or keyword.issoftkeyword(name):
        reason = "it is a keyword of Python"
    elif name.startswith("_"):
        reason = "it starts with an underscore"
    elif kind == "module" and name in sys.stdlib_module_names:
        reason = "Python's standard library has a module of this name"
    elif kind == "module" and name in _RESERVED:
        reason = "the package needs another module of this name"
    if reason is not None:
        raise UsageError(
            f"a {kind} cannot be named {name!r:.80}: {reason}",
            hint=f"choose one with --{kind} NAME",
        )


@dataclass(frozen=True)
class _Parameter:
    """A parameter of the function: its name, its type in the stub, and its arrays."""

    name: str
    type: str
    arrays: tuple[Argument, ...]


@dataclass(frozen=True)
class WheelModule:
    """The content of a wheel's module: names, and the parameters and the result of the function.

    The first `positional_only` parameters have no names of their own.
    """

    name: str
    function: str
    version: str
    summary: str
    positional: tuple[_Parameter, ...]
    positional_only: int
    named: tuple[_Parameter, ...]
    result: str
    results: tuple[Argument, ...]

    @staticmethod
    def of(bundle: Bundle, name: str, function: str, version: str) -> WheelModule:
        """Return the module of a bundle's program.

        Raises:
            UsageError: a parameter that is passed by name has a name that Python does not allow.
        """
        manifest = bundle.manifest
        signature = manifest.signature
        args, kwargs = signature.argument_tree.items
        arrays = iter(signature.arguments)
        roots = positional_roots(bundle)
        named_roots = [root if _is_name(root) and roots.count(root) == 1 else "" for root in roots]
        positional = [
            _parameter(root or f"_{i}", node, arrays)
            for i, (root, node) in enumerate(zip(named_roots, args.items, strict=True))
        ]
        unnamed = [i for i, root in enumerate(named_roots) if not root]
        for key in kwargs.keys:
            if not _is_name(str(key)):
                raise UsageError(f"the parameter {key!r} of {manifest.name} is not a Python name")
        named = [
            _parameter(str(key), node, arrays)
            for key, node in zip(kwargs.keys, kwargs.items, strict=True)
        ]
        return WheelModule(
            name,
            function,
            version,
            f"{function}, compiled from {manifest.entry} by OLYMPUS".replace("\n", " "),
            tuple(positional),
            max(unnamed, default=-1) + 1,
            tuple(named),
            _annotation(signature.result_tree, iter(signature.results)),
            signature.results,
        )

    def parameters(self, *, typed: bool) -> str:
        """Return the parameters of the function as in its definition."""
        parts = [f"{p.name}: {p.type}" if typed else p.name for p in self.positional]
        if self.positional_only:
            parts.insert(self.positional_only, "/")
        named = [f"{p.name}: {p.type}" if typed else p.name for p in self.named]
        return ", ".join([*parts, *(["*", *named] if named else [])])

    def call(self) -> str:
        """Return the arguments of a call that passes all parameters on."""
        named = [f"{p.name}={p.name}" for p in self.named]
        return ", ".join([*(p.name for p in self.positional), *named])


def _is_name(name: str) -> bool:
    """Return True if a parameter of the function can have the name."""
    is_free = name != "_loaded_program" and not keyword.iskeyword(name)
    return name.isidentifier() and name.isascii() and is_free


def _parameter(name: str, node: Node, arrays: Iterator[Argument]) -> _Parameter:
    own = tuple(next(arrays) for _ in range(node.leaves()))
    return _Parameter(name, _annotation(node, iter(own)), own)


#: The dtypes of NumPy itself; an array of another one is any array in the stub.
_NUMPY = """
int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128
""".split()  # noqa: SIM905  (shorter)


def _annotation(node: Node, arrays: Iterator[Argument]) -> str:
    """Return the type of a tree, with the arrays of its leaves, as in a stub."""
    if node.kind == "leaf":
        name = next(arrays).dtype_name
        name = "bool_" if name == "bool" else name if name in _NUMPY else "generic"
        return f"_Array[_np.{name}]"
    if node.kind == "none":
        return "None"
    items = [_annotation(item, arrays) for item in node.items]
    either = " | ".join(dict.fromkeys(items)) or "_Any"
    match node.kind:
        case "list":
            return f"list[{either}]"
        case "dict" | "ordereddict":
            keys = " | ".join(dict.fromkeys(type(key).__name__ for key in node.keys)) or "str"
            return f"dict[{keys}, {either}]"
        case "key":
            return items[0]
    return f"tuple[{', '.join(items) or '()'}]"


def _array(array: Argument) -> str:
    return f"    {array.name}: {array.dtype_name}[{','.join(map(str, array.shape))}]\n"


def _docstring(module: WheelModule) -> str:
    arrays = [array for p in (*module.positional, *module.named) for array in p.arrays]
    arguments = "".join(map(_array, arrays)) or "    none\n"
    results = "".join(map(_array, module.results)) or "    none\n"
    text = (
        f"Run the compiled program on NumPy arrays, and wait for the results.\n\n"
        f"Arguments:\n{arguments}\nResults:\n{results}\n"
        "Raises TypeError for an argument of another type or structure.\n"
    )
    return text.replace("\\", "\\\\").replace('"""', "'''")


def module_source(module: WheelModule) -> str:
    """Return the source of `__init__.py`: the program is loaded by the first call."""
    lines = "\n    ".join(_docstring(module).splitlines()).replace("\n    \n", "\n\n")
    return f'''\
"""{_line(module.summary)}."""

import threading as _threading
from pathlib import Path as _Path

__all__ = ["{module.function}"]
__version__ = "{module.version}"

_lock = _threading.Lock()
_program = None


def _loaded_program():
    """Return the program, loaded by the first call."""
    global _program
    if _program is None:
        with _lock:
            if _program is None:
                from olympus_runtime import load

                _program = load(_Path(__file__).with_name("{module.name}.olympus"))
    return _program


def {module.function}({module.parameters(typed=False)}):
    """{lines}
    """
    return _loaded_program()({module.call()})
'''


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text).replace("\\", "/").replace('"', "'")


def stub_source(module: WheelModule) -> str:
    """Return the source of `__init__.pyi`."""
    return f"""\
from typing import Any as _Any

import numpy as _np
from numpy.typing import NDArray as _Array

__all__ = ["{module.function}"]
__version__: str

def {module.function}({module.parameters(typed=True)}) -> {module.result}: ...
"""
