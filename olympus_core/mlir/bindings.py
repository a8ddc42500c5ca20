"""The MLIR bindings: context, types, attributes, constants, and a fast way to emit an operation.

jaxlib's MLIR bindings take about 30 ms to import, and a program that only traces never needs them:
`ir`, `hlo`, `chlo` and `func` are loaded at the first access.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArtifactError, UsageError

if TYPE_CHECKING:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import chlo, func, sdy
    from jaxlib.mlir.dialects import stablehlo as hlo

__all__ = [
    "BYTECODE",
    "broadcast",
    "bytecode",
    "chlo",
    "constant",
    "context",
    "dialects",
    "element_type",
    "evaluate_module",
    "full",
    "func",
    "hlo",
    "i64_array",
    "ir",
    "new_context",
    "normalized",
    "op",
    "op1",
    "parsed",
    "portable",
    "readable",
    "sdy",
    "tensor_type",
    "without_locations",
]


# Of StableHLO, CHLO and Shardy only attributes and functions are used, which the extension modules
# have.  The dialects' own modules add a class for each operation, which takes milliseconds; the
# bindings load one by themselves when they show an attribute or an operation of its dialect.
_MODULES = {
    "ir": "jaxlib.mlir.ir",
    "hlo": "jaxlib.mlir._mlir_libs._stablehlo",
    "chlo": "jaxlib.mlir._mlir_libs._chlo",
    "func": "jaxlib.mlir.dialects.func",
    "sdy": "jaxlib.mlir._mlir_libs._sdy",
}


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(name)
    loaded = {dialect: importlib.import_module(module) for dialect, module in _MODULES.items()}
    globals().update(loaded)
    return loaded[name]


_making = threading.Lock()

#: a lock for the shared context in threads of other tools, such as those in which JAX lowers: some
#: of MLIR's functions let other threads of Python run
converting = threading.RLock()


@functools.cache
def context() -> ir.Context:
    """Return the process's MLIR context, with the dialects that programs are lowered to."""
    with _making:  # two threads that arrive first would make two contexts, and mix their types
        return _shared_context()


@functools.cache
def _shared_context() -> ir.Context:
    return new_context()


def dialects() -> ir.DialectRegistry:
    """Return the dialects of a context beside StableHLO, CHLO and Shardy.

    >>> registry = dialects()
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    return registry


def new_context() -> ir.Context:
    """Return an MLIR context of the caller's own, with the same dialects.

    >>> context = new_context()
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _chlo, _sdy, _stablehlo

    ctx = ir.Context()
    ctx.append_dialect_registry(dialects())
    ctx.load_all_available_dialects()
    for dialect in (_stablehlo, _chlo, _sdy):
        dialect.register_dialect(ctx)
    ctx.enable_multithreading(False)
    __getattr__("ir")
    return ctx


_BY_CONSTRUCTOR = {
    "float16": "F16Type",
    "bfloat16": "BF16Type",
    "float32": "F32Type",
    "float64": "F64Type",
    "float4_e2m1fn": "Float4E2M1FNType",
    "float6_e2m3fn": "Float6E2M3FNType",
    "float6_e3m2fn": "Float6E3M2FNType",
    "float8_e3m4": "Float8E3M4Type",
    "float8_e4m3": "Float8E4M3Type",
    "float8_e4m3b11fnuz": "Float8E4M3B11FNUZType",
    "float8_e4m3fn": "Float8E4M3FNType",
    "float8_e4m3fnuz": "Float8E4M3FNUZType",
    "float8_e5m2": "Float8E5M2Type",
    "float8_e5m2fnuz": "Float8E5M2FNUZType",
    "float8_e8m0fnu": "Float8E8M0FNUType",
}


@functools.cache
def element_type(dt: dtypes.DType) -> ir.Type:
    """Return the MLIR element type of a dtype; signed integers are signless, as in StableHLO."""
    ctx, name = context(), dtypes.long_name(dt)
    if name in _BY_CONSTRUCTOR:
        return getattr(ir, _BY_CONSTRUCTOR[name]).get(ctx)
    if dtypes.kind(dt) == "c":
        part = element_type(dtypes.to_real(dt))
        return ir.ComplexType.get(part)
    if name == "bool":
        return ir.IntegerType.get_signless(1, ctx)
    bits = int(name.lstrip("uint"))
    if dtypes.kind(dt) == "u":
        return ir.IntegerType.get_unsigned(bits, ctx)
    return ir.IntegerType.get_signless(bits, ctx)


def is_token(kind: ir.Type) -> bool:
    """Return True for the type of a token, which orders effects."""
    return str(kind) == "!stablehlo.token"


@functools.cache
def tensor_type(aval: ShapedArray) -> ir.Type:
    """Return the tensor type of an aval."""
    with context():
        loc = ir.Location.unknown()
        shape = aval.shape
        if aval.is_symbolic:
            unknown = ir.ShapedType.get_dynamic_size()
            shape = tuple([unknown if is_symbolic_dim(n) else n for n in shape])
        return ir.RankedTensorType.get(shape, element_type(aval.dtype), loc=loc)


class SymbolicValues(NamedTuple):
    """The values of an attribute of sizes of which some are symbolic; it has no form in MLIR."""

    values: tuple[Any, ...]


#: the functions that emit operations with symbolic sizes in another form: `dynamic.py`
dynamic_forms: dict[str, Callable[[ShapedArray, Sequence[Any], dict[str, Any]], Any]] = {}


def op(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """Emit an operation at the current insertion point; the quickest way there is (1 us)."""
    # `create` reads the values of another sequence, such as the arguments of a block, after it has
    # released them
    return ir.Operation.create(name, results, tuple(operands), attributes, regions=regions)


def op1(
    name: str,
    aval: ShapedArray,
    operands: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """Emit an operation with one result of type `aval`, and return that result.

    With symbolic sizes it has another form.
    """
    if aval.is_symbolic and name in dynamic_forms:
        return dynamic_forms[name](aval, operands, attributes or {})
    try:
        operation = ir.Operation.create(name, (tensor_type(aval),), operands, attributes)
    except TypeError:
        if not any(isinstance(x, SymbolicValues) for x in (attributes or {}).values()):
            raise
        return dynamic_forms[name](aval, operands, attributes or {})
    result: ir.Value = operation.result
    return result


def created(
    name: str, aval: ShapedArray, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.Value:
    """Emit an operation with one result as `op1`, in this form also with symbolic sizes."""
    result: ir.Value = ir.Operation.create(name, (tensor_type(aval),), operands, attributes).result
    return result


def reshaped(value: ir.Value, aval: ShapedArray) -> ir.Value:
    """Emit a reshape to type `aval`."""
    return op1("stablehlo.reshape", aval, (value,))


def dimension_size(value: ir.Value, axis: int, aval: ShapedArray) -> ir.Value:
    """Emit the length of an axis, as an int32 scalar of type `aval`."""
    return op1("stablehlo.get_dimension_size", aval, (value,), {"dimension": i64_attr(axis)})


@functools.cache
def i64_array(values: tuple[int, ...]) -> Any:
    """Return `array<i64: ...>`; `SymbolicValues` if a value is symbolic."""
    if any(is_symbolic_dim(n) for n in values):
        return SymbolicValues(values)
    return ir.DenseI64ArrayAttr.get(values, context())


@functools.cache
def i64_attr(value: int) -> ir.Attribute:
    """Return `value : i64`.

    >>> str(i64_attr(2))
    '2 : i64'
    """
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context()), value)


@functools.cache
def i32_attr(value: int) -> ir.Attribute:
    """Return `value : i32`.

    >>> str(i32_attr(2))
    '2 : i32'
    """
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32, context()), value)


@functools.cache
def bool_attr(value: bool) -> ir.Attribute:
    """Return `true` or `false`."""
    return ir.BoolAttr.get(value, context())


@functools.cache
def unit_attr() -> ir.Attribute:
    """Return a unit attribute, which has no value."""
    return ir.UnitAttr.get(context())


@functools.cache
def string_attr(value: str | bytes) -> ir.Attribute:
    """Return a string attribute, of text or of any bytes."""
    return ir.StringAttr.get(value, context())


@functools.cache
def own_module(content: bytes) -> ir.Module:
    """Return the module of bytes in a context of its own, which no other thread uses."""
    return ir.Module.parse(content, new_context())


def parsed_attr(text: str) -> ir.Attribute:
    """Return an attribute from its text, such as `#stablehlo<precision DEFAULT>`."""
    return ir.Attribute.parse(text, context())


def dense(value: np.ndarray[Any, Any]) -> ir.Attribute:
    """Return the elements of an array as an attribute; a broadcast scalar becomes a splat."""
    etype = element_type(value.dtype)
    splat = value.size > 0 and not any(value.strides)
    data = np.ascontiguousarray(value.reshape(-1)[:1] if splat else value)
    with context():
        return ir.DenseElementsAttr.get(data, type=etype, shape=value.shape)


_ELEMENT = re.compile(r"0x[0-9A-Fa-f]+|true|false|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")
_HEXADECIMAL = re.compile(r'"0x([0-9A-Fa-f]+)"')
_DENSE = re.compile(r"dense<(.*?)> : tensor<", re.DOTALL)


def constant_elements(operation: ir.Operation, aval: ShapedArray) -> np.ndarray[Any, Any] | None:
    """Return the elements of a `stablehlo.constant` of type `aval`; a splat is broadcast.

    None if they are not in the module, but in a resource.  NumPy reads the attributes of its own
    dtypes; of others the text is read, since the bindings have no class for a complex attribute.
    """
    dtype, shape = aval.dtype, aval.shape
    if dtype.kind in "biuf" and not dtypes.is_custom(dtype):
        attribute = operation.attributes["value"]
        if not isinstance(attribute, ir.DenseElementsAttr):
            return None
        elements = np.asarray(attribute)  # a splat has strides of 0
        return elements.astype(dtype, copy=False).reshape(shape)
    text = operation.get_asm(enable_debug_info=False)
    dense = _DENSE.search(text)
    if dense is None:
        return None
    packed = _HEXADECIMAL.fullmatch(dense[1])
    if packed is not None:
        values = np.frombuffer(bytes.fromhex(packed[1]), dtype)
    else:
        part = dtypes.to_real(dtype)
        tokens = _ELEMENT.findall(dense[1])
        values = np.array([_element(token, part) for token in tokens], part).view(dtype)
    return np.broadcast_to(values[0], shape) if values.size == 1 else values.reshape(shape)


def _element(token: str, dtype: dtypes.DType) -> Any:
    """Return an element from MLIR's text: a number, or the bits of a float in hexadecimal."""
    if token.startswith("0x"):
        bits = np.array([int(token, 16)], np.dtype(f"uint{dtype.itemsize * 8}"))
        return bits.view(dtype)[0]
    return dtype.type(float(token) if dtypes.kind(dtype) == "f" else int(token))


def constant(value: Any) -> ir.Value:
    """Emit a constant with the elements of a NumPy array or scalar."""
    array = np.asarray(value)
    attribute = dense(array)
    types, attributes = (attribute.type,), {"value": attribute}
    operation = ir.Operation.create("stablehlo.constant", types, (), attributes)
    result: ir.Value = operation.result
    return result


def full(aval: ShapedArray, value: Any) -> ir.Value:
    """Emit a constant of type `aval` whose elements all are the scalar or the size `value`."""
    if is_symbolic_dim(value):
        return dynamic_forms["stablehlo.constant"](aval, (), {"value": value})
    scalar = np.asarray(value).astype(aval.dtype)
    if aval.is_symbolic:
        return broadcast(constant(scalar), aval)
    return constant(np.broadcast_to(scalar, aval.shape))


def broadcast(value: ir.Value, aval: ShapedArray, dims: tuple[int, ...] = ()) -> ir.Value:
    """Emit a broadcast of `value` to `aval`; its axis i becomes axis `dims[i]`."""
    is_same = dims == tuple(range(aval.ndim)) and value.type == tensor_type(aval)
    if is_same and not aval.is_symbolic:
        return value
    return op1(
        "stablehlo.broadcast_in_dim", aval, (value,), {"broadcast_dimensions": i64_array(dims)}
    )


def in_memory(value: ir.Value, kind: str) -> ir.Value:
    """Emit the request to have a value in the memory `kind`, such as "pinned_host"."""
    placement = ir.DictAttr.get({"_xla_buffer_placement": string_attr(kind)}, context())
    attributes = {
        "call_target_name": string_attr("annotate_device_placement"),
        "has_side_effect": bool_attr(True),
        "mhlo.frontend_attributes": placement,
        "backend_config": string_attr(""),
    }
    result: ir.Value = op("stablehlo.custom_call", [value.type], [value], attributes).results[0]
    return result


def portable(module: ir.Module, version: str | None = None) -> bytes:
    """Return the module as a portable StableHLO artifact: bytecode for other versions of XLA.

    It has no source locations, so that it depends only on the program. The serializer modifies the
    module it gets, so it gets a copy. `version` is that of StableHLO; by default XLA of the last
    twelve weeks can read the artifact.

    Raises UsageError for an unknown version, or one that the program's operations are newer than.
    """
    with context():
        copy = without_locations(module)
        if version is not None:
            return _portable_at(copy, version)
        # the oldest version lacks operations
        weeks = hlo.StablehloCompatibilityRequirement.WEEK_12
        default = hlo.get_version_from_compatibility_requirement(weeks)
        return bytes(hlo.serialize_portable_artifact(copy, default, allow_other_dialects=True))


def _portable_at(module: ir.Module, version: str) -> bytes:
    """Return the module as an artifact of a version of StableHLO, such as 1.0.0."""
    oldest, newest = hlo.get_minimum_version(), hlo.get_current_version()
    parts = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version, re.ASCII)
    ends = [tuple(map(int, text.split("."))) for text in (oldest, newest)]
    if parts is None or not ends[0] <= tuple(map(int, parts.groups())) <= ends[1]:
        raise UsageError(
            f"no version of StableHLO is {version!r:.40}: versions are {oldest} to {newest}"
        )
    with _diagnostics() as texts:
        try:
            return bytes(hlo.serialize_portable_artifact(module, version))
        except Exception as exc:  # the bindings raise several classes
            reason = (texts or [str(exc)])[0].partition("\n")[0]
            newer = re.search(r"operation 'vhlo\.(\w+)_v\d+'", reason)
            why = f"that version has no {newer[1]} as the program uses it" if newer else reason
            raise UsageError(
                f"the program cannot be written for StableHLO {version}: {why}",
                hint=f"choose a newer version, up to {newest}",
            ) from None


def interchange() -> ModuleType:
    """Return jaxlib's functions from modules as bytes to modules in other forms."""
    from jaxlib import _jax

    functions: ModuleType = _jax.mlir
    return functions


def without_locations(module: ir.Module) -> ir.Module:
    """Return a copy of the module without source locations."""
    from jaxlib.mlir import passmanager

    with context():
        copy = copied_module(module)
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(copy.operation)
    return copy


def remove_unused_functions(module: ir.Module) -> None:
    """Remove the private functions of a module to which nothing refers."""
    from jaxlib.mlir import passmanager

    with module.context:
        passmanager.PassManager.parse("builtin.module(symbol-dce)").run(module.operation)


def bytecode(module: ir.Module) -> bytes:
    """Return a module as MLIR bytecode, with its locations."""
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return out.getvalue()


def copied_module(module: ir.Module) -> ir.Module:
    """Return a copy of a module of any MLIR context, in the context of the process."""
    copied: ir.Module = ir.Module.parse(bytecode(module), context())
    return copied


def normalized(module: ir.Module) -> ir.Module:
    """Return a copy of the module in the form of a portable artifact, with its locations.

    Attributes with default values are removed, for modules of any origin. A module that no artifact
    can hold, because it has operations of another dialect, is copied unchanged.
    """
    ctx = context()
    with ctx, _diagnostics():
        try:
            content = hlo.serialize_portable_artifact(
                copied_module(module), hlo.get_current_version(), allow_other_dialects=True
            )
            copy: ir.Module = hlo.deserialize_portable_artifact(ctx, content)
        except (ValueError, ir.MLIRError):
            copy = copied_module(module)
    return copy


def evaluate_module(
    module: ir.Module, arguments: Sequence[np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Return the results of a StableHLO module from the reference interpreter.

    An operation that it lacks ends the process, and so does reading complex results. Results are
    read in the dtypes of NumPy itself.
    """
    with context(), ir.Location.unknown():
        outs = hlo.eval_module(module, [dense(x) for x in arguments])
        return [np.array(ir.DenseElementsAttr(x)) for x in outs]


#: The prefix of MLIR bytecode, also of a portable artifact.
BYTECODE = b"ML\xefR"
_PORTABLE = b"StableHLO_v"  # the writer of the bytecode, after the magic number and the version


def sdy_attributes() -> Any:
    """Return the module of the classes of the attributes of the dialect `sdy`."""
    from jaxlib.mlir._mlir_libs import _sdy

    return _sdy


def parsed(content: bytes | str, name: str = "the program") -> ir.Module:
    """Parse and verify a module in StableHLO's text, in MLIR bytecode or in a portable artifact.

    Raises:
      ArtifactError: the content is none of these; `name` is its name in the message.
    """
    ctx = context()
    if isinstance(content, bytes) and _PORTABLE in content[: len(BYTECODE) + len(_PORTABLE) + 10]:
        return verified(lambda: hlo.deserialize_portable_artifact(ctx, content), name)
    return verified(lambda: ir.Module.parse(content, ctx), name)


def verified(read: Callable[[], ir.Module], name: str) -> ir.Module:
    """Return the verified module of `read`; raise ArtifactError with MLIR's message if it fails."""
    context()  # which loads the bindings
    with _diagnostics() as messages, readable(name):
        try:
            module = read()
            if not module.operation.verify():
                raise ArtifactError(f"{name} is not valid StableHLO")
        except (ValueError, ir.MLIRError) as exc:
            reason = _with_position(messages[0] if messages else str(exc))
            raise ArtifactError(f"{name} is not StableHLO that can be read: {reason}") from None
    return module


_POSITION = re.compile(r'error: "-":(\d+):(\d+): (.*)')


def _with_position(message: str) -> str:
    """Return an error of MLIR's parser with its line and column, in one line; others unchanged."""
    match = _POSITION.search(message)
    return f"line {match[1]}, column {match[2]}: {match[3]}" if match else message


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Convert errors of reading a foreign module's names and texts; `name` is for messages.

    Raises:
      ArtifactError: a text is not UTF-8, for which the bindings raise a RuntimeError.
    """
    try:
        yield
    except UnicodeDecodeError:
        raise ArtifactError(f"{name} has a text that is not UTF-8") from None
    except RuntimeError as exc:
        if "conversion error" not in str(exc):
            raise
        raise ArtifactError(f"{name} has a text that is not UTF-8") from None


@contextlib.contextmanager
def _diagnostics() -> Iterator[list[str]]:
    """Collect MLIR's diagnostics within the context, instead of printing them."""
    messages = list[str]()

    def collect(diagnostic: Any) -> bool:
        try:
            messages.append(str(diagnostic))
        except (RuntimeError, UnicodeDecodeError):  # it quotes bytes of the program
            messages.append("a text in it is not UTF-8")
        return True  # so that it is not printed

    handler = context().attach_diagnostic_handler(collect)
    try:
        yield messages
    finally:
        handler.detach()
