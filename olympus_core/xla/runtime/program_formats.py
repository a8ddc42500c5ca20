"""The formats of programs of other tools: their bytes to a StableHLO module.

StableHLO and MHLO as text or bytecode, portable artifacts, files of `jax.export`, and HLO as text
or as a protocol buffer.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ArtifactError, EntryError
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.bindings import _hlo, _jax
from olympus_core.xla.messages import nearest

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_PORTABLE = b"StableHLO_v"
#: the place of the offset of the artifact among the offsets of a table of `jax.export`
_ARTIFACT_OFFSET = 30
_HLO = re.compile(r"\s*(?://[^\n]*\n\s*)*HloModule\b")
_MHLO = re.compile(r"\bmhlo\.\w+\W*\(|\"mhlo\.")
_NO_PROTO = "Failed to deserialize HloModuleProto"
#: the operation by which a refined argument keeps its dynamic type until its uses are refined
_WRAPPER = "stablehlo.shape_refinement_operand_wrapper"


def parse_program(content: bytes, name: str) -> ir.Module:
    """Return the verified StableHLO module of a program in any of the formats.

    `name` is the name of the file in messages.

    Raises:
      ArtifactError: the content is in none of the formats, or is no valid program; the message has
        the line and the column of an error in a text.

    >>> module = parse_program(b"func.func @main(%x: tensor<f32>) -> tensor<f32> { ... }", "f.mlir")
    """
    if content.startswith(mlir.BYTECODE):
        return mlir.parsed(content, name)
    exported = _exported(content)
    if exported is not None:
        return mlir.parsed(exported, name)
    if not content.strip():
        raise ArtifactError(f"{name} is empty")
    try:
        text = content.decode("utf-8-sig")  # editors of Windows write a byte order mark
    except UnicodeDecodeError:
        return _of_hlo_proto(content, name)
    if "\0" in text:
        return _of_hlo_proto(content, name)
    if _HLO.match(text):
        return _of_hlo_text(text, name)
    if _MHLO.search(text):
        return mlir.parsed(_converted(lambda m: m.mhlo_to_stablehlo(text), name, "MHLO"), name)
    return mlir.parsed(text, name)


def _exported(content: bytes) -> bytes | None:
    """Return the portable artifact in a file of `jax.export`, or None for other files.

    The file is a FlatBuffer, whose root table has the artifact. The derivatives of the program are
    nested tables with artifacts of their own, which may come first.
    """

    def number(form: str, place: int) -> int:
        if place < 0:  # `unpack_from` would count it from the end
            raise struct.error
        value: int = struct.unpack_from(form, content, place)[0]
        return value

    try:
        root = number("<I", 0)
        offsets = root - number("<i", root)
        if number("<H", offsets) <= _ARTIFACT_OFFSET:
            return None
        field = root + number("<H", offsets + _ARTIFACT_OFFSET)
        vector = field + number("<I", field)
        length = number("<I", vector)
    except struct.error:
        return None
    artifact = content[vector + 4 : vector + 4 + length]
    is_whole = len(artifact) == length and artifact.startswith(mlir.BYTECODE)
    return artifact if is_whole and _PORTABLE in artifact[:32] else None


def _of_hlo_text(text: str, name: str) -> ir.Module:
    try:
        proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    except Exception as exc:  # the runtime's class of errors is not exported everywhere
        reason = str(exc).strip().partition("\n")[0]
        raise ArtifactError(f"{name} is not HLO that can be read: {reason}") from None
    return _of_hlo_proto(proto, name)


def _of_hlo_proto(content: bytes, name: str) -> ir.Module:
    try:
        converted = _converted(lambda m: m.hlo_to_stablehlo(content), name, "a program")
    except ArtifactError as error:
        if _NO_PROTO not in str(error):
            raise
        byte = _first_binary_byte(content)
        line = content.count(b"\n", 0, byte) + 1
        raise ArtifactError(
            f"{name} is not a program that can be read: it is no HLO protocol buffer, and no text, "
            f"because line {line} has the byte 0x{content[byte]:02x}",
            hint="a program is StableHLO (text or bytecode), a file of jax.export or HLO (text or "
            "protocol buffer)",
        ) from None
    return mlir.parsed(converted, name)


def _first_binary_byte(content: bytes) -> int:
    """Return the place of the first byte that is not part of a text, which the content has."""
    zero = content.find(0)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start if zero < 0 else min(zero, error.start)
    return zero


def _converted(convert: Any, name: str, what: str) -> bytes:
    try:
        return bytes(convert(_jax.mlir))
    except Exception as exc:  # as above
        reason = str(exc).strip().partition("\n")[0]
        raise ArtifactError(f"{name} is not {what} that can be read: {reason}") from None


def main_function(module: ir.Module, name: str = "main", program: str = "the program") -> Any:
    """Return the function of a module; `program` is the name of the program in messages.

    Raises:
      ArtifactError: the module has no function `main`, so that it is no program.
      EntryError: the module does not have the other function that was requested.
    """
    functions = {}
    for view in module.body.operations:
        if view.operation.name == "func.func":
            with mlir.readable("the program"):
                functions[str(view.operation.attributes["sym_name"].value)] = view
    if name in functions:
        return functions[name]
    hint = f"its functions are {', '.join([*functions][:20])}" if functions else None
    message = f"{program} has no function {name!r}"
    if name == "main":
        raise ArtifactError(message, hint=hint)
    raise EntryError(message, hint=nearest(name, functions) or hint)


def dynamic_arguments(module: ir.Module) -> list[int]:
    """Return the indices of the arguments of `main` with a dynamic shape."""
    types = main_function(module).type.inputs
    ranked = mlir.ir.RankedTensorType
    return [i for i, x in enumerate(types) if isinstance(x, ranked) and not x.has_static_shape]


def refined(module: ir.Module, shapes: Mapping[int, ShapedArray], name: str) -> ir.Module:
    """Return the module with static shapes, for the types of the dynamic arguments of `main`.

    Raises:
      ArtifactError: the shapes do not fit the program, or do not determine all other shapes.
    """
    ir = mlir.ir
    function = main_function(module)
    block = function.operation.regions[0].blocks[0]
    with mlir.context(), ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        for i, aval in shapes.items():
            argument, old = block.arguments[i], block.arguments[i].type
            argument.set_type(mlir.tensor_type(aval))
            sizes = mlir.constant(np.array(aval.shape, np.int64))
            wrapped = mlir.op(
                "stablehlo.custom_call",
                (old,),
                (argument, sizes),
                {
                    "call_target_name": mlir.string_attr(_WRAPPER),
                    "indices_of_shape_operands": mlir.dense(np.array([1], np.int64)),
                },
            )
            argument.replace_all_uses_except(wrapped.result, wrapped)
        inputs = [x.type for x in block.arguments]
        kind = ir.FunctionType.get(inputs, list(function.type.results))
        function.operation.attributes["function_type"] = ir.TypeAttr.get(kind)
    content = mlir.bytecode(module)
    try:
        return mlir.parsed(bytes(_jax.mlir.refine_polymorphic_shapes(content)), name)
    except Exception as exc:  # as above
        reason = str(exc).strip().partition("\n")[0].rpartition(" error: ")[2]
        raise ArtifactError(f"{name} cannot have the given shapes: {reason}") from None
