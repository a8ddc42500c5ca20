"""A digest of a Python function that the compiler calls, of which a module has only the index."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from olympus_core.lowering.fingerprint import structural_value


def code_digest(function: Any) -> str:
    """Return the SHA-256 of the instructions of a function, and of the values that it reads.

    These are its constants, its defaults, the variables that it closes over, and global variables.
    Functions of the same package among them count in the same way, and others by their names. Lines
    do not count.

    >>> code_digest(lambda x: 2 * x) == code_digest(lambda x: 3 * x)
    False
    """
    package, seen = _package(function), set[int]()
    pending: list[Any] = [function]
    parts: list[object] = []
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, CodeType):
            parts += [current.co_code, current.co_names]
        values = [*_values_in(current)]
        # the text of a code has an address
        parts.append(structural_value([x for x in values if not isinstance(x, CodeType)]))
        pending += [x for x in values if _is_followed(x, package)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _package(function: Any) -> str:
    """Return the outermost package of a function, or of the class of an object."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", None)).split(".", maxsplit=1)[0]


def _is_followed(value: Any, package: str) -> bool:
    """Return True for code, and for a function or a callable object of a package."""
    if isinstance(value, CodeType | MethodType | partial):
        return True
    return callable(value) and not isinstance(value, type) and _package(value) == package


def _values_in(current: Any) -> Iterator[Any]:
    """Yield the values in a code or a callable object."""
    if isinstance(current, CodeType):
        yield from current.co_consts
    elif isinstance(current, MethodType):
        yield from (current.__func__, current.__self__)
    elif isinstance(current, partial):
        yield from (current.func, *current.args, *_in_order(current.keywords))
    elif isinstance(current, FunctionType):
        yield from (current.__code__, *(current.__defaults__ or ()))
        yield from _in_order(current.__kwdefaults__ or {})
        for cell in current.__closure__ or ():
            with contextlib.suppress(ValueError):  # a variable without a value
                yield cell.cell_contents
        names, variables = _names_in(current.__code__), current.__globals__
        found = {name: variables[name] for name in names if name in variables}
        yield from _in_order({k: x for k, x in found.items() if not isinstance(x, ModuleType)})
    elif hasattr(current, "__wrapped__"):  # its other values, such as a cache, may change
        yield current.__wrapped__
    else:
        yield type(current).__call__
        yield from _in_order(getattr(current, "__dict__", {}))


def _in_order(values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield names and their values, in the order of the names."""
    for name in sorted(values):
        yield name
        yield values[name]


def _names_in(code: CodeType) -> set[str]:
    """Return the names of global variables in a code and in those inside."""
    inside = [x for x in code.co_consts if isinstance(x, CodeType)]
    return {*code.co_names}.union(*map(_names_in, inside))
