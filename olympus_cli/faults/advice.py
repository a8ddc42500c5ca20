"""Hints on exceptions that Python raised in the user's program.

Most hints have the nearest name.  `advice` and `described` raise no exception, even if an object of
the program raises one when it is inspected.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import linecache
import math
import re
import traceback
from collections.abc import Iterable
from types import FrameType, ModuleType
from typing import Any

import olympus
from olympus.errors import size_remedy, torch_remedy, why_absent
from olympus_cli.text.nearest import did_you_mean, likeness, nearest

#: The namespaces that are searched for a name missing in another, the most common first.
_NAMESPACES = (
    *("olympus", "olympus.numpy", "olympus.lax", "olympus.nn", "olympus.random"),
    *("olympus.numpy.linalg", "olympus.numpy.fft", "olympus.scipy.special"),
    *("olympus.scipy.linalg", "olympus.nn.initializers", "olympus.tree_util"),
)

#: The namespaces whose functions take an array as the first argument.
_OF_ARRAYS = tuple(
    namespace
    for namespace in _NAMESPACES
    if namespace
    not in ("olympus", "olympus.random", "olympus.nn.initializers", "olympus.tree_util")
)

_NEARER = 0.1  # the least extra similarity of a name of another namespace

#: The extras of OLYMPUS that install a package, by the package.
_EXTRAS = {"jax": "jax", "onnx": "onnx", "torch": "torch", "torchax": "torch"}

#: The message of JAX's import if the version of jaxlib does not fit.
_VERSIONS = re.compile(r"^jaxlib (is )?version ")

#: The import statements for common names of namespaces.
_IMPORTS = {
    "jnp": "import olympus.numpy as jnp",
    "lax": "from olympus import lax",
    "np": "import olympus.numpy as np",
    "olympus": "import olympus",
    "ox": "import olympus as ox",
}

#: The keyword arguments of PyTorch that have another name here.
_TORCH_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}

#: The module in whose calls JAX traces a function of the user.
_TRACING_BY_JAX = "olympus_core.interop.jax_tracing"
_JAX = re.compile(r"\bJAX (?:type|value)\b|\bjaxlib\.")
_KEYWORD = re.compile(r"\) got an unexpected keyword argument '(\w+)'")
_UNHASHABLE = re.compile(r"unhashable type: '(\w+)'")
_MESH = re.compile(r"must be >= the product of mesh_shape \(([\d, ]+)\)")
_FROM = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def described(error: BaseException) -> str:
    """Return an exception's text, in which classes of arrays have the user's name `Array`.

    The text of an assertion without a message is its source.  If `__str__` of the exception raises
    an error, the text names that error.
    """
    try:
        text = str(error)
    except BaseException as other:
        return f"(its __str__ raised {type(other).__name__})"
    if isinstance(error, AssertionError) and not text:
        text = _assertion(error) or text
    return _with_arrays(text)


def advice(error: BaseException) -> str | None:
    """Return a hint on an exception of Python, mostly the nearest name; None if there is none."""
    try:
        match error:
            case AttributeError(name=str(name)):
                return _attribute(error.obj, name)
            case NameError(name=str(name)):
                return _name(error, name)
            case ImportError():
                return _import(error)
            case TypeError():
                remedies = (_of_jax, _of_traced, _unhashable, _called, _keyword)
                return next((hint for remedy in remedies if (hint := remedy(error))), None)
            case KeyError():
                return _key(error)
            case ValueError():
                return _mesh_of_jax(str(error))
            case RuntimeError() if _VERSIONS.search(str(error)):
                return "`pip install 'olympus[jax]'` installs a jax that fits the jaxlib"
    except Exception:  # from an inspected object of the program
        return None
    return None


def _mesh_of_jax(text: str) -> str | None:
    """Return the hint for a mesh of JAX that needs more devices than JAX has."""
    needed = _MESH.search(text)
    if needed is None:
        return None
    count = math.prod(int(size) for size in needed[1].split(",") if size.strip())
    return (
        f"put JAX_NUM_CPU_DEVICES={count} before the command, or use jax.sharding.AbstractMesh, "
        "which needs no devices"
    )


def _attribute(owner: Any, name: str) -> str | None:
    if isinstance(owner, ModuleType):
        return _of_module(owner, name)
    if isinstance(owner, olympus.Array):
        if remedy := torch_remedy(name):
            return remedy
        if place := _place(name, _OF_ARRAYS):
            return f"{place} is a function: {place}(x)"
    return _did_you_mean(name, dir(owner))


def _of_module(module: ModuleType, name: str) -> str | None:
    """Return why one of our namespaces lacks the name, its place elsewhere, or the nearest name."""
    if module.__name__.partition(".")[0] != "olympus":
        return _did_you_mean(name, dir(module))
    if why := why_absent(module.__name__, name):
        return why
    if place := _place(name):
        return f"did you mean {place}?"
    return _nearest_in_all(module, name)


def _nearest_in_all(module: ModuleType, name: str) -> str | None:
    """Return a hint with the most similar public name of the module.

    A name of another namespace is used if it is clearly more similar.
    """
    own = [own_name for own_name in dir(module) if not own_name.startswith("_")]
    here = max((likeness(name, own_name) for own_name in nearest(name, own)), default=0.0)
    best, place = here + _NEARER, None
    for namespace in _NAMESPACES:
        public = [
            own_name for own_name in dir(importlib.import_module(namespace)) if own_name[0] != "_"
        ]
        for suggestion in nearest(name, public):
            if (score := likeness(name, suggestion)) > best:
                best, place = score, f"{namespace}.{suggestion}"
    return f"did you mean {place}?" if place else _did_you_mean(name, own)


def _place(name: str, namespaces: Iterable[str] = _NAMESPACES) -> str | None:
    """Return the full name of the public function `name` in the first namespace that has it."""
    for namespace in namespaces:
        module = importlib.import_module(namespace)
        if not name.startswith("_") and callable(getattr(module, name, None)):
            return f"{namespace}.{name}"
    return None


def _name(error: NameError, name: str) -> str | None:
    frame, _ = _innermost(error)
    if name in frame.f_code.co_varnames:  # a local variable that is not assigned on this path
        return None
    if (near := _did_you_mean(name, [*frame.f_locals, *frame.f_globals])) is not None:
        return near
    return _IMPORTS.get(name) or _did_you_mean(name, dir(builtins))


def _import(error: ImportError) -> str | None:
    if match := _FROM.search(str(error)):
        name, place = match.groups()
        return _of_module(importlib.import_module(place), name)
    if isinstance(error, ModuleNotFoundError) and error.name:
        parent, _, name = error.name.rpartition(".")
        if parent.partition(".")[0] == "olympus":
            return _of_module(importlib.import_module(parent), name)
        package = error.name.partition(".")[0]
        if (extra := _EXTRAS.get(package)) is not None:
            install = f"pip install 'olympus[{extra}]'"
            instead = ", or `import olympus as jax` in its place" if package == "jax" else ""
            return f"`{install}` installs {package}{instead}"
        return f"install {error.name!r} in the environment that olympus runs in"
    if "relative import" in str(error):
        return "a file with relative imports is part of a package: write package.module:function"
    return None


def calls_jax(error: BaseException) -> bool:
    """Return True if an error of tracing is due to a function of JAX that got an OLYMPUS array."""
    cause = error.__cause__
    return cause is not None and _of_jax(cause) is not None


def _of_jax(error: BaseException) -> str | None:
    """Return the remedy if JAX was given an array of OLYMPUS; None if JAX has no part in the error.

    JAX removes its own frames from the traceback of most errors, but names itself in the text.
    """
    modules = [
        str(frame.f_globals.get("__name__", ""))
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    is_of_jax = modules[-1].partition(".")[0] == "jax" or _JAX.search(str(error))
    if not is_of_jax or _TRACING_BY_JAX in modules:
        return None
    return (
        "this line calls JAX, which does not accept arrays of OLYMPUS: import the module of "
        "OLYMPUS, such as `import olympus.numpy as jnp` or `import olympus as jax`"
    )


def _of_traced(error: TypeError) -> str | None:
    """Return the remedy if NumPy got a traced array for an integer, as in np.zeros(n)."""
    return size_remedy() if "integer" in str(error) and "Tracer(" in str(error) else None


def _unhashable(error: TypeError) -> str | None:
    """Return the remedy for an array in a set, or as the key of a dict."""
    match = _UNHASHABLE.fullmatch(str(error))
    if match is None or match[1] not in {kind.__name__ for kind in _subclasses(olympus.Array)}:
        return None
    return (
        "an array is not hashable: use a tuple or a list instead of a set, and a string or an "
        "integer as the key of a dict"
    )


def _called(error: TypeError) -> str | None:
    """Return the remedy for a call of an array attribute that is not a method: `x.size(0)`."""
    if not str(error).endswith("object is not callable"):
        return None
    call, frame = _expression(error)
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return None
    name = call.func.attr
    if not isinstance(_value(call.func.value, frame), olympus.Array):
        return None
    length = "; x.shape[0] is the length of axis 0" if name in ("size", "shape") else ""
    return f"{name} is an attribute of an array, not a method: x.{name}{length}"


def _keyword(error: TypeError) -> str | None:
    match = _KEYWORD.search(str(error))
    if match is None:
        return None
    call, frame = _expression(error)
    if not isinstance(call, ast.Call):
        return None
    names = [
        name
        for name, parameter in inspect.signature(_value(call.func, frame)).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if (meant := _TORCH_KEYWORDS.get(match.group(1))) in names:
        return f"did you mean {meant}?"
    return did_you_mean(match.group(1), names, "its arguments are")


def _key(error: KeyError) -> str | None:
    item, frame = _expression(error)
    if not isinstance(item, ast.Subscript):
        return None
    table, (key,) = _value(item.value, frame), error.args
    if type(table) is not dict or key in table or not all(isinstance(k, str) for k in table):
        return None
    return did_you_mean(str(key), table, "its keys are")


def _did_you_mean(name: str, valid: Iterable[str]) -> str | None:
    """Return a hint with the nearest public names; None if no name is near."""
    public = [candidate for candidate in valid if not candidate.startswith("_")]
    return did_you_mean(name, public) if nearest(name, public) else None


# --- the source of a frame -----------------------------------------------------------------------


def _innermost(error: BaseException) -> tuple[FrameType, int]:
    """Return the innermost frame of the traceback of an exception, and its line."""
    *_, innermost = traceback.walk_tb(error.__traceback__)
    return innermost


def _assertion(error: AssertionError) -> str | None:
    """Return the source of the failed assertion; None if it cannot be found."""
    try:
        frame, line = _innermost(error)
        text = "".join(linecache.getlines(frame.f_code.co_filename))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
                return " ".join(ast.unparse(node).split())
    except Exception:
        return None
    return None


def _expression(error: BaseException) -> tuple[ast.expr, FrameType]:
    """Return the expression that raised the exception, and its frame.

    Raises an exception if the position or the source of the expression is unknown.
    """
    last = error.__traceback__
    assert last is not None
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    first, end, begin, stop = list(code.co_positions())[last.tb_lasti // 2]
    assert None not in (first, end, begin, stop)
    lines = linecache.getlines(code.co_filename)[first - 1 : end]  # type: ignore[operator]
    source = [line.encode() for line in lines]  # columns are in bytes
    source[-1] = source[-1][:stop]
    source[0] = source[0][begin:]
    text = b"".join(source).decode()
    return ast.parse(f"({text})", mode="eval").body, last.tb_frame


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Return the value of a dotted name with constant subscripts in a frame."""
    match node:
        case ast.Name(name):
            for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
                if name in scope:
                    return scope[name]
        case ast.Attribute(owner, name):
            return getattr(_value(owner, frame), name)
        case ast.Subscript(owner, ast.Constant(key)):
            return _value(owner, frame)[key]
    raise LookupError(ast.dump(node))


# --- arrays --------------------------------------------------------------------------------------


def _with_arrays(text: str) -> str:
    """Return `text` with the quoted names of array classes replaced by `Array`."""
    kinds = _subclasses(olympus.Array)
    names = "|".join(sorted({re.escape(kind.__name__) for kind in kinds}))
    return re.sub(rf"""(['"])(?:olympus[\w.]*\.)?(?:{names})\1""", r"\1Array\1", text)


def _subclasses(kind: type) -> list[type]:
    own: list[type] = kind.__subclasses__()
    return own + [below for subclass in own for below in _subclasses(subclass)]
