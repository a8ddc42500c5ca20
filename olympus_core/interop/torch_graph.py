"""The graph of an exported PyTorch module, run on arrays of JAX: operator by operator."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from olympus_core.base.errors import TraceError
from olympus_core.interop.jax_modules import jax, source_info_util
from olympus_core.interop.torch_modules import jax_dtypes, operators, torch

_T = TypeVar("_T")

_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')
_TORCH = f"{Path(torch.__file__).parent}/"
_CALL_NUMBER = re.compile(r"@\d+")  # of a module that is called several times


class Line(NamedTuple):
    """A line of the user's, and the function that it is in."""

    file: str
    number: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


def lines_of(node: Any) -> list[Line]:
    """Return the lines of a node's calls, the outermost first, without those in PyTorch."""
    lines = [
        Line(file, int(number), function)
        for file, number, function in _FRAME.findall(node.meta.get("stack_trace") or "")
    ]
    return [line for line in lines if not line.file.startswith(_TORCH)] or lines[-1:]


def scope_of(node: Any) -> str:
    """Return the path of the module that a node is in, such as `layers.0.attention`."""
    paths = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return _CALL_NUMBER.sub("", paths[-1]) if paths else ""


def check_operators(graph: Any) -> None:
    """Raise TraceError, with the line, for operators that have no conversion.

    Another reason is a result whose shape depends on values.
    """
    nodes = [node for node in graph.nodes if node.op == "call_function"]
    absent = [node for node in nodes if _function(node.target) is None]
    if absent:
        names = list(dict.fromkeys(str(node.target) for node in absent))
        several = len(names) > 1
        operators = f"operator{'s'[:several]} {', '.join(names)} {'are' if several else 'is'}"
        raise _error(absent[0], f"the PyTorch {operators} not supported")
    for node in nodes:
        if _has_unknown_shape(node):
            what = f"the shape of a result of the PyTorch operator {node.target} depends on values"
            raise _error(
                node, what, hint="a program has static shapes: use a mask, or a fixed size"
            )


def _error(node: Any, message: str, hint: str | None = None) -> TraceError:
    """Return an error at the line of a node; its message has the module of the node."""
    scope = scope_of(node)
    where = f", in the module {scope}" if scope else ""
    return TraceError(message + where, hint=hint, location=_location(node))


def _location(node: Any) -> str | None:
    lines = lines_of(node)
    return str(lines[-1]) if lines else None


def _has_unknown_shape(node: Any) -> bool:
    values = torch.utils._pytree.tree_leaves(node.meta.get("val"))
    sizes = (size for x in values if isinstance(x, torch.Tensor) for size in x.shape)
    return not all(type(size) is int for size in sizes)


def _function(target: Any) -> Callable[..., Any] | None:
    """Return the function of JAX for the target of a node; None if it has none."""
    if not isinstance(target, torch._ops.OpOverload):
        is_python = not isinstance(target, torch._ops.OperatorBase)
        return target if is_python else None  # a function of Python on tuples and numbers
    function = operators.get(target) or operators.get(target.overloadpacket)
    if function is None or not function.is_jax_function or function.needs_env:
        return None
    return function.func  # type: ignore[no-any-return]


def run(graph: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """Return the results of a graph for the values of its placeholders, by name.

    The operations have the lines and the module of their node. Raises TraceError, with the line,
    if an operator cannot be converted.
    """
    with warnings.catch_warnings():
        # a dtype of 64 bits is one of 32 unless they are enabled
        warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning)
        return _outputs(graph, inputs)


def _outputs(graph: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    values: dict[Any, Any] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = inputs[node.name]
        elif node.op == "call_function":
            values[node] = _result(node, values)
    output = next(iter(reversed(graph.nodes)))
    outputs: Sequence[Any] = torch.fx.node.map_arg(output.args[0], values.__getitem__)
    return outputs


def _result(node: Any, values: Mapping[Any, Any]) -> Any:
    function = _function(node.target)
    assert function is not None  # `check_operators` found one
    args = torch.fx.node.map_arg(node.args, values.__getitem__)
    kwargs = torch.fx.node.map_arg(node.kwargs, values.__getitem__)
    try:
        with _located(lines_of(node), scope_of(node)):
            return _checked(node, function(*args, **kwargs))
    except TraceError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        what = f"the PyTorch operator {node.target} cannot be converted"
        raise _error(node, f"{what}: {type(error).__name__}: {reason}") from error


@contextlib.contextmanager
def _located(lines: Sequence[Line], scope: str) -> Iterator[None]:
    """A context in which operations of JAX have the calls of `lines` as source, and the scope."""
    calls = _called_at(lines, source_info_util.Traceback.get_traceback)
    named = jax.named_scope(scope) if scope else contextlib.nullcontext()
    with source_info_util.user_context(calls), named:
        yield


def _checked(node: Any, result: Any) -> Any:
    """Return the arrays of a node's result with the dtypes of PyTorch; check their shapes."""
    expected = node.meta.get("val")
    if isinstance(expected, torch.Tensor):
        return _checked_array(node, expected, result)
    if isinstance(expected, list | tuple) and isinstance(result, list | tuple):
        return tuple(
            _checked_array(node, e, r) if isinstance(e, torch.Tensor) and r is not None else r
            for e, r in zip(expected, result, strict=True)
        )
    return result


def _checked_array(node: Any, expected: Any, result: Any) -> Any:
    result = jax.numpy.asarray(result)
    if tuple(expected.shape) != result.shape:
        shapes = f"{list(result.shape)} in place of {list(expected.shape)}"
        what = f"the conversion of the PyTorch operator {node.target} is wrong"
        raise _error(node, f"{what}: it has the shape {shapes}")
    return result.astype(jax.dtypes.canonicalize_dtype(jax_dtypes[expected.dtype]))


def _called_at(lines: Sequence[Line], call: Callable[[], _T]) -> _T:
    """Return the result of a function that is called from lines, the outermost first."""
    for line in reversed(lines):
        call = functools.partial(_frame(line), call)
    return call()


@functools.lru_cache(maxsize=4096)
def _frame(line: Line) -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls its argument, and whose frame is at a line of another file."""
    code = (lambda call: call()).__code__
    units = len(code.co_code) // 2
    sizes = [min(8, units - start) for start in range(0, units, 8)]
    # each entry: the number of instructions, no column, and the same line as before
    table = bytes(byte for size in sizes for byte in (0x80 | 13 << 3 | size - 1, 0))
    name = line.function
    return FunctionType(
        code.replace(
            co_filename=line.file,
            co_firstlineno=line.number,
            co_name=name,
            co_qualname=name,
            co_linetable=table,
        ),
        {},
    )
