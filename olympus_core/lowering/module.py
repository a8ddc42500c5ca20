"""Lowering: from an Olympuspr to a StableHLO module.

Each equation becomes the operations that its primitive's `lower` emits, at the location of the
user's line. Nested programs become functions, one for each distinct program of a module. Dead
equations and repeated constants are not emitted. A module is the same in any process, so it has no
effects, unless it is emitted for only one compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base.avals import Shape, ShapedArray, shaped
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dimensions.solving import solved
from olympus_core.base.errors import LoweringError, TraceError, UnsupportedError
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.effects import calls_python, is_partitioned_by_python
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var, sub_programs
from olympus_core.ir.trace import Axes, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.lowering.attributes import add_frontend_attributes, annotate_results, mark
from olympus_core.lowering.concatenations import write_parts
from olympus_core.lowering.emitting import EmittingTrace
from olympus_core.lowering.fingerprint import fingerprint
from olympus_core.lowering.module_functions import functions_copied
from olympus_core.lowering.module_state import Manual, ModuleState, Watching
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.mlir.attributes import attribute, output_aliases
from olympus_core.mlir.shardy import MeshTable, axis_texts, manual_computation, manual_sharding
from olympus_core.placement.partition_spec import PartitionSpec

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


#: the type of the value of a dimension variable
_SIZE = shaped((), dynamic.SIZE)


class LoweringContext:
    """The interface of a primitive's `lower` to the block that it emits into."""

    __slots__ = ("avals_in", "avals_out", "constants", "inner", "module")

    def __init__(
        self, module: ModuleState, constants: dict[Any, ir.Value] | None = None, inner: bool = True
    ) -> None:
        self.module = module
        #: True outside of the entry function's block, the only one that some passes of XLA visit
        self.inner = inner
        self.constants = {} if constants is None else constants
        self.avals_in: tuple[ShapedArray, ...] = ()
        self.avals_out: tuple[ShapedArray, ...] = ()

    @property
    def platform(self) -> str:
        """The platform lowered for: "cpu", "cuda" or "tpu"."""
        return self.module.platform

    @property
    def is_for_cpu_alone(self) -> bool:
        """True if the program may have a form that only the compiler for CPUs makes fast."""
        return self.module.platform == "cpu" and not self.module.portable

    @property
    def has_lapack(self) -> bool:
        """True if the program may call LAPACK: on the CPU, unless it is to be without."""
        return self.module.platform == "cpu" and self.module.lapack

    @property
    def is_for_gpu_alone(self) -> bool:
        """True if the program may have a form that only the compiler for GPUs needs."""
        return self.module.platform == "cuda" and not self.module.portable

    @property
    def is_for_unsplit_cpu(self) -> bool:
        """The same, where the compiler splits no array, along no axis, over several devices."""
        return self.is_for_cpu_alone and self.module.num_partitions == 1

    @property
    def axes(self) -> Axes:
        """The named axes of the replicas that run the program."""
        return self.module.axes

    @property
    def manual(self) -> Manual | None:
        """The axes that the body of a `shard_map` maps over; None outside of one."""
        return self.module.manual

    @property
    def watch(self) -> Watching | None:
        """The request for shardings of intermediate values; None if there is none."""
        return self.module.watch

    def all_manual(self, emit: Callable[[], ir.Value], aval: ShapedArray) -> ir.Value:
        """Emit `emit()` with all axes of the mesh manual, if there is a mesh.

        XLA refuses the number of a partition if some axes are not manual.
        """
        manual = self.module.manual
        rest = [n for n in manual.mesh.axis_names if n not in manual.names] if manual else []
        if not rest:
            return emit()
        assert manual is not None
        symbol = self.meshes.symbol(manual.mesh)
        texts = axis_texts(manual.mesh.axis_names)
        names = [texts[n] for n in rest]
        computation = manual_computation([], [aval], [], [f"<@{symbol}, []>"], names)
        block = computation.regions[0].blocks.append()
        with mlir.ir.InsertionPoint(block):
            mlir.op("sdy.return", (), (emit(),))
        result: ir.Value = computation.results[0]
        return result

    def manual_body(
        self,
        program: Olympuspr,
        operands: Sequence[ir.Value],
        mapped: Manual,
        specs: tuple[Sequence[PartitionSpec], Sequence[PartitionSpec]],
        outs: Sequence[ShapedArray],
    ) -> list[ir.Value]:
        """Emit a program that each device runs on its parts of arrays, and return its results.

        `mapped` are the mesh and the axes mapped over here, and `specs` those of the operands and
        of the results.
        """
        module, old = self.module, (self.module.axes, self.module.manual)
        outer = frozenset[Any]() if old[1] is None else old[1].names
        texts = axis_texts(mapped.mesh.axis_names)
        every = outer | mapped.names
        is_open = len(mapped.names) < len(mapped.mesh.axis_names)
        symbol = self.meshes.symbol(mapped.mesh)
        ins, results = (
            [
                manual_sharding(symbol, texts, s, a.ndim, is_open)
                for s, a in zip(group, avals, strict=True)
            ]
            for group, avals in ((specs[0], self.avals_in), (specs[1], self.avals_out))
        )
        names = [texts[n] for n in mapped.mesh.axis_names if n in mapped.names]
        module.axes, module.manual = mapped.mesh.shape_tuple, Manual(mapped.mesh, every)
        try:
            if mapped.mesh.size == 1 and calls_python(program):
                # the compiler refuses a manual computation with a call on one device
                return lower_eqns(self.nested(), program, list(operands))
            computation = manual_computation(operands, outs, ins, results, names)
            types = [mlir.tensor_type(a) for a in program.in_avals]
            locations = [computation.location] * len(types)
            block = computation.regions[0].blocks.append(*types, arg_locs=locations)
            with mlir.ir.InsertionPoint(block):
                inner = LoweringContext(module)  # it sees no constants of this block
                mlir.op("sdy.return", (), lower_eqns(inner, program, list(block.arguments)))
        finally:
            module.axes, module.manual = old
        return list(computation.results)

    @property
    def meshes(self) -> MeshTable:
        """The meshes of the module, for the attributes of shardings."""
        return self.module.meshes

    @property
    def aval_out(self) -> ShapedArray:
        """The aval of the only result."""
        return self.avals_out[0]

    def nested(self) -> LoweringContext:
        """Return a context for a region inside this block, with this block's constants."""
        return LoweringContext(self.module, dict(self.constants))

    def constant(self, literal: Literal, shape: Shape = ()) -> ir.Value:
        """Return a literal at the given shape; equal constants are emitted once in a block."""
        value = np.asarray(literal.value, literal.aval.dtype)
        key = (value.dtype, value.tobytes(), shape)
        constant = self.constants.get(key)
        if constant is None and any(is_symbolic_dim(n) for n in shape):
            aval = shaped(shape, value.dtype)
            constant = self.constants[key] = mlir.broadcast(self.constant(literal), aval)
        elif constant is None:
            full = np.broadcast_to(value, shape) if shape else value
            constant = self.constants[key] = mlir.constant(full)
        return constant

    def numpy_constant(self, value: np.ndarray[Any, Any]) -> ir.Value:
        """Return the elements of an array; equal constants are emitted once in a block."""
        key = (value.dtype, value.tobytes(), value.shape)
        constant = self.constants.get(key)
        if constant is None:
            constant = self.constants[key] = mlir.constant(value)
        return constant

    def full(self, operand: Any, aval: ShapedArray, shape: Shape) -> ir.Value:
        """Return a value, or a literal, at `shape`: a scalar is broadcast to it."""
        if operand.__class__ is Literal:
            return self.constant(operand, shape)
        if aval.shape != shape:
            value: ir.Value = mlir.broadcast(operand, aval.update(shape=shape))
            return value
        return operand

    def host_function(self, callee: Hashable) -> int:
        """Return the index of a Python function that the module calls."""
        return self.module.host_functions.setdefault(callee, len(self.module.host_functions))

    def partitioned_call(
        self, partitioner: Hashable, operands: Sequence[ir.Value], rule: ir.Attribute | None
    ) -> list[ir.Value]:
        """Emit an operation that the compiler partitions by an `xla.Partitioner`.

        `rule` is the attribute of its sharding rule. Costs are counted from the primitive.
        """
        self.mark_form()
        index = self.module.partitioners.setdefault(partitioner, len(self.module.partitioners))
        attributes = {
            "call_target_name": mlir.string_attr(xla.PARTITIONED_CALL),
            "api_version": mlir.i32_attr(2),
            "backend_config": mlir.string_attr(str(index)),
        }
        if rule is not None:
            attributes["sdy.sharding_rule"] = rule
        types = [mlir.tensor_type(a) for a in self.avals_out]
        return list(mlir.op("stablehlo.custom_call", types, operands, attributes).results)

    def host_call(
        self,
        handler: str,
        index: int,
        operands: Sequence[ir.Value],
        *,
        has_side_effect: bool,
        aliases: Mapping[int, int] | None = None,
    ) -> list[ir.Value]:
        """Emit the call of the Python function of an index, which `handler` of the runtime makes.

        `aliases` pair operands with the results in their memory.
        A program of several devices calls it once, with whole arrays, on the first device; in a
        `shard_map` over all axes, each device calls it with its own parts.
        """
        attributes = {
            "call_target_name": mlir.string_attr(handler),
            "api_version": mlir.i32_attr(4),
            "backend_config": mlir.parsed_attr(f"{{index = {index} : ui64}}"),
            "has_side_effect": mlir.bool_attr(has_side_effect),
            "operand_layouts": _row_major(self.avals_in),
            "result_layouts": _row_major(self.avals_out),
        }
        if aliases:
            attributes["output_operand_aliases"] = output_aliases(aliases, len(self.avals_out))
        if self.module.num_partitions > 1:
            if self.manual is None:
                attributes["sdy.sharding"] = self.meshes.on_first_device(len(self.avals_out))
            elif not self.manual.is_whole:
                raise UnsupportedError(
                    "callbacks are only supported in spmd computations when all mesh axes are "
                    "partitioned manually (no partial automatic sharding).",
                    hint="map over all axes, or call the function outside of the shard_map",
                )
        types = [mlir.tensor_type(a) for a in self.avals_out]
        results = mlir.op("stablehlo.custom_call", types, operands, attributes).results
        if "sdy.sharding" not in attributes:
            return list(results)
        return [self._on_all_devices(x, a) for x, a in zip(results, self.avals_out, strict=True)]

    def _on_all_devices(self, value: ir.Value, aval: ShapedArray) -> ir.Value:
        """Emit a copy of a value to all devices, because those of a program's results are all."""
        sharding = self.meshes.replicated(self.module.num_partitions, aval.ndim)
        # jaxlib 0.12 gives a call the shardings of its results if all of several have a constraint
        value = mlir.op1("stablehlo.optimization_barrier", aval, (value,))
        return mlir.op1("sdy.sharding_constraint", aval, (value,), {"sharding": sharding})

    def typed(self, value: ir.Value, aval: ShapedArray) -> ir.Value:
        """Emit a constraint to the sharding in a type, if it has one."""
        attribute = self.meshes.typed(aval)
        if attribute is None:
            return value
        return mlir.op1("sdy.sharding_constraint", aval, (value,), {"sharding": attribute})

    def unreduced(self, value: ir.Value, aval: ShapedArray) -> ir.Value:
        """Emit a constraint to the sharding in a type with unreduced axes.

        Each value between the operands of an equation and its results has one: Shardy takes a value
        without unreduced axes for the sum, and derives other axes, but not these.
        """
        explicit = aval.explicit
        return (
            self.typed(value, aval) if explicit is not None and explicit.spec.unreduced else value
        )

    def inline(self, program: Olympuspr, operands: Sequence[ir.Value]) -> list[ir.Value]:
        """Emit the equations of a nested program here, and return its results."""
        return lower_eqns(self, program, operands)

    def call(
        self,
        program: Olympuspr,
        name: str,
        operands: Sequence[ir.Value],
        *,
        is_outlined: bool = False,
        annotations: Sequence[tuple[str, str]] = (),
    ) -> list[ir.Value]:
        """Emit a call of the function of `program` in this module.

        With `is_outlined`, XLA's compiler does not inline the call. `annotations` are attributes of
        the call for the compiler, names and texts.
        """
        symbol = _function_for(self.module, program, name, is_outlined)
        operands = (*dynamic.variables(), *operands)
        types = [mlir.tensor_type(a) for a in program.out_avals]
        attributes = {"callee": mlir.ir.FlatSymbolRefAttr.get(symbol, mlir.context())}
        if is_outlined:
            name_of, value = xla.NOINLINE_ATTRIBUTE
            attributes[name_of] = mlir.parsed_attr(value)
        call = mlir.op("func.call", types, operands, attributes)
        if annotations:
            add_frontend_attributes(call, {k: mlir.string_attr(v) for k, v in annotations})
        return list(call.results)

    def function_symbol(self, program: Olympuspr, name: str) -> str:
        """Return the symbol of the function of `program` in this module, which is emitted once."""
        return _function_for(self.module, program, name, is_outlined=False)

    def composite(
        self,
        program: Olympuspr,
        name: str,
        operands: Sequence[ir.Value],
        attributes: dict[str, Any],
        version: int,
    ) -> list[ir.Value]:
        """Emit a composite operation whose decomposition is the function of `program`."""
        symbol = _function_for(self.module, program, name, is_outlined=False)
        types = [mlir.tensor_type(a) for a in program.out_avals]
        given = {
            "name": mlir.string_attr(name),
            "decomposition": mlir.ir.FlatSymbolRefAttr.get(symbol, mlir.context()),
            "composite_attributes": attribute(attributes),
            "version": mlir.i32_attr(version),
        }
        values = (*dynamic.variables(), *operands)
        return list(mlir.op("stablehlo.composite", types, values, given).results)

    def apply(
        self, fun: Callable[..., Any], operands: Sequence[ir.Value], **options: Any
    ) -> list[ir.Value]:
        """Emit a call of the function of a Python function in this module.

        `fun` takes arrays and then `options`, and returns the primitive's results. The operations
        that it binds are emitted once for each combination of types and options.
        """
        return self._applied(fun, operands, fun.__name__, options)

    def form(
        self, fun: Callable[..., Any], operands: Sequence[ir.Value], name: str, **options: Any
    ) -> list[ir.Value]:
        """Emit as `apply` a primitive called `name`, in another form for this target.

        Its operations have the name of the primitive, and costs are counted from the primitive.
        """
        self.mark_form()
        return self._applied(fun, operands, name, options)

    def mark_form(self) -> None:
        """Record that the emitted operations have a target form, whose costs are not counted."""
        self.module.has_forms = True

    def _applied(
        self,
        fun: Callable[..., Any],
        operands: Sequence[ir.Value],
        name: str,
        options: dict[str, Any],
    ) -> list[ir.Value]:
        key = fun, self.module.manual, self.avals_in, self.avals_out, tuple(options.items())
        symbol = self.module.emitted.get(key)
        if symbol is None:
            symbol = self.module.emitted[key] = self.module.unique(fun.__name__)
            run = functools.partial(fun, **options)
            location = mlir.ir.Location.name(f"{self.module.root}/{name}")
            emit_function_of(self.module, run, symbol, location, self.avals_in, self.avals_out)
        types = [mlir.tensor_type(a) for a in self.avals_out]
        callee = {"callee": mlir.ir.FlatSymbolRefAttr.get(symbol, mlir.context())}
        return list(mlir.op("func.call", types, (*dynamic.variables(), *operands), callee).results)

    def call_module(
        self,
        module: ir.Module,
        name: str,
        key: Any,
        operands: Sequence[ir.Value],
        results: Sequence[ShapedArray],
    ) -> list[ir.Value]:
        """Emit a call of the function `main` of another module, whose functions become this one's.

        Calls with an equal `key` share the functions. The results have the types `results`.
        """
        copied = self.module.copied.get(key)
        if copied is None:
            copied = self.module.copied[key] = functions_copied(self.module, module, name)
        called: list[ir.Value] = copied.called(operands, results)
        return called

    def function(
        self,
        name: str,
        avals: Sequence[ShapedArray],
        body: Callable[..., Sequence[ir.Value]],
    ) -> str:
        """Emit a function of the module that returns `body` of its arguments; return its symbol."""
        ir, symbol = mlir.ir, self.module.unique(name)
        types = [mlir.tensor_type(a) for a in avals]
        with ir.InsertionPoint(self.module.body), ir.Location.unknown():
            results = types[: len(types) // 2]
            function = mlir.func.FuncOp(
                symbol, ir.FunctionType.get(types, results), visibility="private"
            )
        block = function.add_entry_block([ir.Location.unknown()] * len(types))
        with ir.InsertionPoint(block), ir.Location.unknown():
            mlir.op("func.return", (), body(*block.arguments))
        return symbol

    def region(
        self, region: ir.Region, program: Olympuspr, captured: Sequence[ir.Value] = ()
    ) -> None:
        """Fill a region of an operation with a program: block arguments in, `return` out.

        The program's leading inputs are `captured` values of this block; the rest are arguments.
        """
        types = [mlir.tensor_type(a) for a in program.in_avals[len(captured) :]]
        block = region.blocks.append(*types, arg_locs=[mlir.ir.Location.unknown()] * len(types))
        with mlir.ir.InsertionPoint(block):
            results = lower_eqns(self.nested(), program, [*captured, *block.arguments])
            mlir.op("stablehlo.return", (), results)


def _row_major(avals: Sequence[ShapedArray]) -> ir.Attribute:
    """Return the layouts of arrays in row-major order."""
    orders = [[*range(a.ndim)][::-1] for a in avals]
    texts = [f"dense<{order or ''}> : tensor<{len(order)}xindex>" for order in orders]
    return mlir.parsed_attr(f"[{', '.join(texts)}]")


def lower_eqns(
    ctx: LoweringContext, program: Olympuspr, operands: Sequence[ir.Value]
) -> list[ir.Value]:
    """Emit a program's equations for the given input values, and return its results."""
    env: dict[Any, Any] = dict(zip(program.invars, operands, strict=True))
    for var, const in zip(program.constvars, program.consts, strict=True):
        env[var] = ctx.numpy_constant(_concrete(const))
    program = simplify(program)
    module, undecided = ctx.module, ctx.module.undecided
    around = module.around
    for eqn in program.eqns:
        primitive = eqn.primitive
        if primitive.takes_literals:
            values = [x if x.__class__ is Literal else env[x] for x in eqn.inputs]
        else:
            values = [ctx.constant(x) if isinstance(x, Literal) else env[x] for x in eqn.inputs]
        ctx.avals_in = tuple([x.aval for x in eqn.inputs])
        ctx.avals_out = tuple([v.aval for v in eqn.outputs])
        with module.location(eqn):
            if module.callers and primitive.has_programs:
                module.around = module.stack(eqn) or around
            out = _lower_eqn(ctx, eqn, values)
            module.around = around
        if undecided and eqn.outputs and primitive.has_programs:
            mark(out[0] if primitive.multiple_results else out, undecided.get(eqn.outputs[0], {}))
        if eqn.source.annotations:
            annotate_results(out, eqn.source.annotations)
        if any(v.aval.explicit is not None for v in eqn.outputs):
            with module.location(eqn):
                out = _constrained(ctx, eqn, out)
        if primitive.multiple_results:
            env.update(zip(eqn.outputs, out, strict=True))
        else:
            env[eqn.outputs[0]] = out
    return [ctx.constant(x) if isinstance(x, Literal) else env[x] for x in program.outvars]


def _lower_eqn(ctx: LoweringContext, eqn: Eqn, values: list[Any]) -> Any:
    try:
        return eqn.primitive.lower(ctx, *values, **eqn.params)
    except TraceError as e:
        e.location = e.location or str(eqn.source.position() or "") or None
        raise


def _constrained(ctx: LoweringContext, eqn: Eqn, out: Any) -> Any:
    """Emit a constraint to the sharding in the type of each result of an equation, if any."""
    values = out if eqn.primitive.multiple_results else [out]
    constrained = [ctx.typed(x, v.aval) for x, v in zip(values, eqn.outputs, strict=True)]
    return constrained if eqn.primitive.multiple_results else constrained[0]


def _concrete(const: Any) -> np.ndarray[Any, Any]:
    if isinstance(const, Tracer):
        raise LoweringError(
            f"the program closes over a traced array {const.aval.long_name()}, {const.origin()}; "
            "only a program that closes over arrays alone can be lowered",
            hint="pass the array to the function as an argument",
        )
    return array_to_numpy(const)


def _function_for(module: ModuleState, program: Olympuspr, name: str, is_outlined: bool) -> str:
    # the fingerprint counts functions by their names, and effects are functions
    is_own = program.effects or calls_python(program) or is_partitioned_by_python(program)
    structure = program if is_own else fingerprint(program)
    marked = tuple(_undecided_in(module, program)) if module.undecided else ()
    key = name, structure, (module.axes, module.manual, marked)
    symbol = module.functions.get(key)
    if symbol is None:
        symbol = module.functions[key] = module.unique(name)
        function = emit_function(module, program, symbol, private=True)
        if is_outlined:
            write_parts(function.entry_block)
    return symbol


def _undecided_in(module: ModuleState, program: Olympuspr) -> Iterator[Var]:
    """Yield the branches and loops of a program, also nested, whose predicate may differ."""
    for eqn in simplify(program).eqns:
        yield from (v for v in eqn.outputs[:1] if v in module.undecided)
        for inner in sub_programs(eqn):
            yield from _undecided_in(module, inner)


def emit_function(module: ModuleState, program: Olympuspr, name: str, private: bool) -> Any:
    """Emit the function of a program, and return it."""
    ir = mlir.ir
    sizes = dynamic.names() if private else ()
    kind = ir.FunctionType.get(
        [mlir.tensor_type(a) for a in (*[_SIZE] * len(sizes), *program.in_avals)],
        [mlir.tensor_type(a) for a in program.out_avals],
    )
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        function = mlir.func.FuncOp(name, kind, visibility="private" if private else "public")
    block = function.add_entry_block([ir.Location.unknown()] * len(kind.inputs))
    module.around = ()
    with ir.InsertionPoint(block), ir.Location.unknown():
        arguments = list(block.arguments)
        variables = dict(zip(sizes, arguments, strict=False))
        if not private:
            variables = _entry_dimensions(program, arguments)
        with dynamic.function_dimensions(variables):
            ctx = LoweringContext(module, inner=private)
            results = lower_eqns(ctx, program, arguments[len(sizes) :])
            mlir.op("func.return", (), results)
    return function


def _entry_dimensions(program: Olympuspr, arguments: Sequence[ir.Value]) -> dict[str, ir.Value]:
    """Emit the values of the dimension variables, from the shapes of the arguments."""
    if not any(a.is_symbolic for a in program.in_avals):
        return {}
    steps = solved(program.in_avals).steps
    variables: dict[str, ir.Value] = {}
    for step in steps:
        size = mlir.dimension_size(arguments[step.argument], step.axis, _SIZE)
        variables[step.variable] = dynamic.solved_value(step, size, variables)
    return variables


def emit_function_of(
    module: ModuleState,
    fun: Callable[..., Any],
    name: str,
    location: ir.Location,
    ins: tuple[ShapedArray, ...],
    outs: tuple[ShapedArray, ...],
) -> None:
    """Emit a function of a module from a Python function on primitives.

    It takes operands of types `ins` and returns results of types `outs`.
    """
    ir = mlir.ir
    sizes = dynamic.names()
    every = (*[_SIZE] * len(sizes), *ins)
    kind = ir.FunctionType.get(*([mlir.tensor_type(a) for a in avals] for avals in (every, outs)))
    with ir.InsertionPoint(module.body), location:
        function = mlir.func.FuncOp(name, kind, visibility="private")
        block = function.add_entry_block([location] * len(every))
        trace = EmittingTrace(LoweringContext(module))
        arguments = list(block.arguments)
        variables = dict(zip(sizes, arguments, strict=False))
        inside = dynamic.function_dimensions(variables)
        with ir.InsertionPoint(block), using_trace(trace), inside:
            mlir.op("func.return", (), trace.run(fun, arguments[len(sizes) :], ins))
