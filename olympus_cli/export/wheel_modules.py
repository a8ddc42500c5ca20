"""The Python sources in a wheel: a module with one function, and its stub with the types."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from olympus.artifact import Argument, BucketManifest, Bundle, Node, RowArray
from olympus.errors import UsageError
from olympus_cli.frontends.bundles import positional_roots
from olympus_cli.text.packages import PACKAGES

#: Names of modules that the wheel's own module needs.
_RESERVED = frozenset({*PACKAGES, "numpy", "jaxlib", "ml_dtypes"})


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
    """A parameter of the function: its name, its type in the stub, and the lines of its arrays.

    A mask of padded rows is no parameter of a call.
    """

    name: str
    type: str
    lines: tuple[str, ...]
    is_mask: bool


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
    result_lines: tuple[str, ...]
    rows: str

    @staticmethod
    def of(
        bundle: Bundle,
        rows: BucketManifest | None,
        bound: Collection[str],
        name: str,
        function: str,
        version: str,
    ) -> WheelModule:
        """Return the module of a bundle's program, or of the largest program for several `rows`.

        The arguments `bound` have their weights in the bundle.

        Raises:
            UsageError: a parameter that is passed by name has a name that Python does not allow.
        """
        manifest = bundle.manifest
        signature = manifest.signature
        args, kwargs = signature.argument_tree.items
        symbol = "" if rows is None else rows.symbol
        no_rows = [None] * (len(signature.arguments) + len(signature.results))
        of_rows = iter(no_rows if rows is None else [*rows.arguments, *rows.results])
        arrays = zip(signature.arguments, of_rows, strict=False)
        roots = positional_roots(bundle)
        named_roots = [root if _is_name(root) and roots.count(root) == 1 else "" for root in roots]
        positional = [
            _parameter(root or f"_{i}", node, arrays, symbol)
            for i, (root, node) in enumerate(zip(named_roots, args.items, strict=True))
        ]
        for key in kwargs.keys:
            if not _is_name(str(key)):
                raise UsageError(f"the parameter {key!r} of {manifest.name} is not a Python name")
        named = [
            _parameter(str(key), node, arrays, symbol)
            for key, node in zip(kwargs.keys, kwargs.items, strict=True)
        ]
        pairs = zip(roots, positional, strict=True)
        positional = [p for root, p in pairs if not p.is_mask and root not in bound]
        last = max((i for i, p in enumerate(positional) if p.name.startswith("_")), default=-1)
        results = zip(signature.results, of_rows, strict=False)
        return WheelModule(
            name,
            function,
            version,
            f"{function}, compiled from {manifest.entry} by OLYMPUS".replace("\n", " "),
            tuple(positional),
            last + 1,
            tuple(p for p in named if not p.is_mask and p.name not in bound),
            _annotation(signature.result_tree, iter(signature.results)),
            tuple(_line_of(array, own, symbol) for array, own in results),
            "" if rows is None else _rows_text(rows),
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


#: Arrays, each with its rows if the bundle is for several numbers of rows.
_Arrays = Iterator[tuple[Argument, RowArray | None]]


def _parameter(name: str, node: Node, arrays: _Arrays, symbol: str) -> _Parameter:
    own = [next(arrays) for _ in range(node.leaves())]
    lines = tuple(_line_of(array, rows, symbol) for array, rows in own)
    is_mask = any(rows is not None and rows.fill == "mask" for _, rows in own)
    return _Parameter(name, _annotation(node, iter([array for array, _ in own])), lines, is_mask)


def _line_of(array: Argument, rows: RowArray | None, symbol: str) -> str:
    """Return the line of an array in the docstring; its rows are a multiple of the symbol."""
    axes = {} if rows is None else rows.axes
    sizes = [
        str(size) if (one := axes.get(i)) is None else symbol if one == 1 else f"{one}*{symbol}"
        for i, size in enumerate(array.shape)
    ]
    return f"    {array.name}: {array.dtype_name}[{','.join(sizes)}]\n"


def _rows_text(rows: BucketManifest) -> str:
    """Return the sentence on the numbers of rows."""
    more = {"split": "split", "refine": "compiled", "refuse": "an error"}[rows.oversize]
    return f"{rows.symbol} is any number of rows up to {rows.sizes[-1]}; more are {more}.\n\n"


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


def _docstring(module: WheelModule) -> str:
    parameters = (*module.positional, *module.named)
    arguments = "".join(line for p in parameters for line in p.lines) or "    none\n"
    results = "".join(module.result_lines) or "    none\n"
    text = (
        f"Run the compiled program on NumPy arrays, and wait for the results.\n\n{module.rows}"
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
