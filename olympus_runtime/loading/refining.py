"""The refinement of symbolic StableHLO to static shapes, by the MLIR bindings of jaxlib."""

from __future__ import annotations

import array
import io
from collections.abc import Mapping
from typing import Any

import jaxlib.mlir.ir as mlir_ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _sdy, _stablehlo

from olympus_bundle.errors import ArtifactError, OlympusError
from olympus_runtime.bindings import JaxRuntimeError, _jax
from olympus_runtime.messages import clean

ir: Any = mlir_ir
#: The operation by which a refined argument keeps its dynamic type until its uses are refined.
_WRAPPER = "stablehlo.shape_refinement_operand_wrapper"


def refined_program(program: bytes, shapes: Mapping[int, tuple[int, ...]]) -> bytes:
    """Return portable StableHLO with static shapes, as bytecode for the compiler.

    `shapes` has the shape of each dynamic argument by its index.

    Raises:
      ArtifactError: the program cannot be read, or the shapes do not fit it.
    """
    try:
        with _context() as context:
            module = _stablehlo.deserialize_portable_artifact(context, program)
            _set_shapes(module, shapes)
            out = io.BytesIO()
            module.operation.write_bytecode(out)
        return bytes(_jax.mlir.refine_polymorphic_shapes(out.getvalue()))
    except OlympusError:
        raise
    except (ValueError, RuntimeError, ir.MLIRError, JaxRuntimeError) as exc:
        raise ArtifactError(f"its program cannot be given these sizes: {clean(exc)}") from None


def _context() -> Any:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (_stablehlo, _chlo, _sdy):
        dialect.register_dialect(context)
    context.enable_multithreading(False)
    return context


def _set_shapes(module: Any, shapes: Mapping[int, tuple[int, ...]]) -> None:
    """Give arguments of `main` static types; their uses see the dynamic ones."""
    views = [view for view in module.body.operations if view.operation.name == "func.func"]
    main = next((x for x in views if x.operation.attributes["sym_name"].value == "main"), None)
    block = None if main is None else main.operation.regions[0].blocks[0]
    if main is None or block is None or max(shapes, default=-1) >= len(block.arguments):
        raise ArtifactError("its program has other arguments than its manifest")
    with ir.Location.unknown(), ir.InsertionPoint.at_block_begin(block):
        for i, shape in shapes.items():
            argument, old = block.arguments[i], block.arguments[i].type
            argument.set_type(ir.RankedTensorType.get(shape, old.element_type))
            wrapped = ir.Operation.create(
                "stablehlo.custom_call",
                results=[old],
                operands=[argument, _constant(shape)],
                attributes={
                    "call_target_name": ir.StringAttr.get(_WRAPPER),
                    "indices_of_shape_operands": _integers((1,)),
                },
            )
            argument.replace_all_uses_except(wrapped.result, wrapped)
        results = list(main.operation.attributes["function_type"].value.results)
        kind = ir.FunctionType.get([x.type for x in block.arguments], results)
        main.operation.attributes["function_type"] = ir.TypeAttr.get(kind)


def _constant(shape: tuple[int, ...]) -> Any:
    value = _integers(shape)
    constant = ir.Operation.create(
        "stablehlo.constant", results=[value.type], attributes={"value": value}
    )
    return constant.result


def _integers(values: tuple[int, ...]) -> Any:
    kind = ir.IntegerType.get_signless(64)
    return ir.DenseElementsAttr.get(array.array("q", values), type=kind)
