"""The second stage of ahead-of-time compilation: a program in StableHLO, for one target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from olympus_core import xla
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.dimensions.solving import evaluated, solved
from olympus_core.base.errors import ArtifactError, OptionError, UsageError
from olympus_core.blocks.outline import Block
from olympus_core.execution import compilation
from olympus_core.execution.compilation import Origin, Repeats
from olympus_core.execution.hidden_arguments import (
    NO_ARGUMENTS,
    HiddenArguments,
    shifted_entry,
    with_constants,
)
from olympus_core.execution.spmd import (
    Placement,
    attached,
    on_first_device,
    whole_on_mesh,
    with_shardings,
)
from olympus_core.ir.dce_cse import restrict, simplify
from olympus_core.ir.effects import has_inspections
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.pretty import pretty
from olympus_core.lowering.entry import EntryAttributes, aliases
from olympus_core.lowering.fingerprint import fingerprint
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.host_function import AnyCallee
from olympus_core.stages.absent_compiled import AbsentCompiled
from olympus_core.stages.compiled import Compiled
from olympus_core.stages.detached import CompileRequest
from olympus_core.stages.direct_compiled import compiled_here
from olympus_core.stages.interface import Interface, Stage
from olympus_core.stages.sharded_compiled import SavedCompiled, ShardedCompiled
from olympus_core.xla.runtime.program_formats import refined

if TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost


def may_have_blocks(entry: EntryAttributes, where: Placement | None, target: xla.Target) -> bool:
    """Return True if a program may be lowered with blocks that are not inlined: for one CPU."""
    return target.backend == "cpu" and where is None and not entry.portable


def _at(aval: ShapedArray, sizes: Mapping[str, int]) -> ShapedArray:
    """Return the type of an array where its symbolic sizes have values."""
    shape: Any = tuple([evaluated(n, sizes) for n in aval.shape])
    return aval.update(shape=shape)


class Lowered(Stage):
    """A program in StableHLO, for one target.

    `module` has one function `main`, whose arguments and results are those of `signature`, after
    `constants`: the large arrays that the function closes over, if these are stored apart. If it
    was lowered from an Olympuspr, `origin` has that program. `placement` has the devices of a
    program of several.

    >>> module = mlir.parsed(text)
    >>> Lowered(lowered.signature, module, lowered.target).compile()(x)
    """

    def __init__(
        self,
        signature: Interface,
        module: Any,
        target: xla.Target,
        placement: Placement | None = None,
        origin: Origin | None = None,
        constants: HiddenArguments | None = None,
    ) -> None:
        super().__init__(signature)
        #: the values of the leading arguments of `module`, which a call does not take
        self.constants = constants or (NO_ARGUMENTS if origin is None else origin.constants)
        self.module = module
        self.target = target
        self._where = placement
        self._origin = origin
        self._cost: Cost | None = None
        self._bytecode: bytes | None = None

    def _repr_html_(self) -> str:
        """Return HTML of the arrays, the cost and the program, for a notebook."""
        from olympus_core.base.notebook import stage_html, target_text  # few programs are shown

        facts = [("target", target_text(self.target)), ("devices", self.num_devices)]
        return stage_html(self, facts, [("StableHLO", self.as_text)], self.cost)

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1 if self._where is None else self._where.num_devices

    def placement(self) -> Placement | None:
        """Return the devices that the program requires; None if it runs on any one device."""
        return self._where

    @property
    def olympuspr(self) -> Olympuspr:
        """The program that was lowered; its repeated blocks are nested programs.

        Raises UsageError if the program was read as StableHLO, and not lowered from an Olympuspr.
        """
        if self._origin is None:
            raise UsageError(
                f"'{self.fun_name}' was read as StableHLO, and has no Olympuspr",
                hint="as_text() returns its StableHLO",
            )
        return with_constants(self._origin.program, self.constants)

    def used_arguments(self) -> frozenset[int]:
        """Return the indices of the arguments that the program uses: all for a read program."""
        if self._origin is None:
            return frozenset(range(len(self.signature.in_avals)))
        program = self.olympuspr
        return frozenset(restrict(program, (True,) * len(program.outvars))[1])

    def olympuspr_text(self, *, source_info: bool = False) -> str:
        """Return the Olympuspr as text, with the source lines if `source_info` is True.

        It is a comment for a program that was read as StableHLO.

        >>> print(jit(lambda x: 2 * x).lower(numpy.ones(2)).olympuspr_text())
        { lambda ; a:f32[2]. let
            b:f32[2] = mul 2.0:f32[] a
          in (b,) }
        """
        if self._origin is None:
            return "# The program is compiled unchanged, as it was read, and has no Olympuspr."
        return pretty(self.olympuspr, source_info=source_info)

    @property
    def inspections(self) -> str | None:
        """The fingerprint of the program with its inspections, as 64 hexadecimal digits.

        On several devices, an inspected array can change the executable although the StableHLO is
        the same.  The fingerprint is the same in any process; functions count by their names.  It
        is None if the program has no inspections or runs on one device.

        >>> jit(f).lower(x).inspections
        """
        if not self.has_inspections or self._origin is None or self.num_devices == 1:
            return None
        return fingerprint(simplify(self._origin.source))

    @property
    def has_inspections(self) -> bool:
        """True if the compilation calls functions of the user, which inspect shardings of arrays.

        >>> jit(f).lower(x).has_inspections
        False
        """
        return self._origin is not None and has_inspections(self._origin.source)

    @property
    def callees(self) -> tuple[AnyCallee, ...]:
        """The Python functions that the running program calls."""
        return () if self._origin is None else self._origin.callees

    @property
    def partitioners(self) -> tuple[str, ...]:
        """The names of the Python functions by which the compiler partitions operations.

        Each is `module:name`, with the SHA-256 of its code and of the values that it reads, as 64
        hexadecimal digits: on several devices, its result can change the executable although the
        StableHLO is the same.

        >>> jit(f).lower(x).partitioners
        ()
        """
        return () if self._origin is None else tuple(map(str, self._origin.partitioners))

    @property
    def callbacks(self) -> tuple[str, ...]:
        """The names of the Python functions that the running program calls, as `module:name`.

        >>> jit(f).lower(x).callbacks
        ()
        """
        return tuple([callee.function.path for callee in self.callees])

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the program that the compiler does not inline, each as one function."""
        return () if self._origin is None else self._origin.blocks

    @property
    def unused_donations(self) -> tuple[str, ...]:
        """The names of the donated arguments whose memory no result reuses."""
        s = self.signature
        reused = aliases(s.donated, s.in_avals, s.out_avals)
        return tuple(s.arg_names[i] for i in sorted(s.donated - reused.keys()))

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """Return the program as text: "stablehlo" (default), "hlo", or "dot" for Graphviz.

        With `debug_info`, StableHLO and HLO contain the user's source locations and name scopes.

        Raises UsageError for another dialect.
        """
        if dialect in (None, "stablehlo"):
            return str(self.module.operation.get_asm(enable_debug_info=debug_info))
        if dialect == "hlo":
            return xla.hlo_text(self.module, metadata=debug_info)
        if dialect == "dot":
            return xla.hlo_dot(self.module)
        raise OptionError(
            f"unknown dialect: as_text needs stablehlo, hlo or dot, and got {dialect!r:.80}"
        )

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Return the program as an object of the MLIR bindings, or for "hlo" of the runtime.

        The object of the runtime has the methods `as_hlo_text`, `as_hlo_dot_graph` and
        `as_serialized_hlo_module_proto`.

        Raises OptionError for a dialect other than "stablehlo" and "hlo".
        """
        if dialect in (None, "stablehlo"):
            return self.module
        if dialect == "hlo":
            return xla.computation(self.module)
        raise OptionError(f"compiler_ir: unknown dialect {dialect!r:.60}, not stablehlo or hlo")

    def bytecode(self, version: str | None = None) -> bytes:
        """Return the program as a portable StableHLO artifact, which other versions of XLA read.

        `version` is that of StableHLO, such as "1.0.0"; by default XLA of the last twelve weeks can
        read the artifact.

        Raises UsageError for an unknown version, or one that lacks an operation of the program.

        >>> lowered.bytecode("1.0.0")[:17]
        b'ML\\xefR\\rStableHLO_v1.0'
        """
        if version is not None:
            return mlir.portable(self.module, version)
        if self._bytecode is None:
            self._bytecode = mlir.portable(self.module)
        return self._bytecode

    def cost(self, trips: Mapping[str, int] | None = None, *, stacks: bool = False) -> Cost:
        """Return the cost of the program, counted from its StableHLO.

        The cost has flops, bytes and other figures, in total and by source line.  The body of a
        loop counts once for each iteration.  If the number of iterations depends on data, `trips`
        can give it, with the end of the loop's `path:line` as the key.  Otherwise the figures are
        None, and `unknown` names the loop.  With `stacks`, the program is lowered once more, with
        the calls that lead to each operation, for `Cost.by_stack`.

        Raises UsageError for a key of `trips` that no loop's line ends with.

        >>> jit(f).lower(x).cost().flops
        >>> jit(solve).lower(x).cost(trips={"solver.py:41": 30}).by("line")
        """
        from olympus_core.analysis.cost.cost import cost_of_module  # imported only if needed

        if self._cost is not None and not trips and not stacks:
            return self._cost
        module = self.module
        if self._origin is not None:
            module = self._origin.countable(module, stacks=stacks)
        cost = cost_of_module(module, trips, stacks=stacks)
        if not trips and not stacks:
            self._cost = cost
        return cost

    def cost_analysis(self) -> dict[str, float]:
        """Return XLA's cost estimate of the unoptimized program: "flops", "bytes accessed", ...."""
        return xla.hlo_cost_analysis(self.module)

    @property
    def size_names(self) -> tuple[str, ...]:
        """The names of the variables in the symbolic sizes; empty if all sizes are fixed.

        >>> jit(f).trace(ShapeDtypeStruct(symbolic_shape("b, 8"), "float32")).lower().size_names
        ('b',)
        """
        return solved(self.signature.in_avals, self.signature.arg_names).variables

    def at_sizes(self, sizes: Mapping[str, int]) -> Lowered:
        """Return the program with fixed sizes, given a number for each variable.

        Raises UsageError for a missing or an unknown variable, and ShapeError for sizes that do not
        fulfill the constraints.

        >>> lowered.at_sizes({"b": 64}).cost().flops
        """
        from olympus_core.analysis.cost.formulas import check_allowed_sizes  # few programs need it

        s = self.signature
        solution = solved(s.in_avals, s.arg_names)
        if set(sizes) != set(solution.variables):
            known = ", ".join(solution.variables)
            has = f"the symbolic sizes {known}" if known else "no symbolic size"
            raise UsageError(
                f"'{self.fun_name}' has {has}, and got {', '.join(sizes) or 'none'}",
                hint="give a number of 1 or more for each" if known else None,
            )
        check_allowed_sizes(solution, sizes)
        ins, outs = (tuple([_at(a, sizes) for a in avals]) for avals in (s.in_avals, s.out_avals))
        first = len(self.constants)
        symbolic = {first + i: a for i, a in enumerate(ins) if s.in_avals[i].is_symbolic}
        name = f"the program of '{self.fun_name}'"
        module = refined(mlir.copied_module(self.module), symbolic, name)
        signature = s._replace(in_avals=ins, out_avals=outs)
        return Lowered(signature, module, self.target, constants=self.constants)

    def cost_formulas(self) -> dict[str, str | None]:
        """Return flops, transcendentals, bytes and io_bytes as polynomials in the symbolic sizes.

        Counts at several sizes determine each polynomial, and counts at three more confirm it. It
        is None if no polynomial of a degree up to 4 has these counts. `io_bytes` are those of
        arguments and results, from their types.

        >>> lowered.cost_formulas()
        {'flops': '1024*b*d', 'transcendentals': '2*b*d', 'bytes': '...', 'io_bytes': '...'}
        """
        from olympus_core.analysis.cost.formulas import formulas  # few programs need it

        names = ("flops", "transcendentals", "bytes")

        def count(sizes: Mapping[str, int]) -> dict[str, int | None]:
            cost = self.at_sizes(sizes).cost()
            return {name: getattr(cost, name) for name in names}

        s = self.signature
        arrays = (*s.in_avals, *s.out_avals)
        io_bytes = str(sum(a.size * a.dtype.itemsize for a in arrays))
        return formulas(solved(s.in_avals, s.arg_names), count) | {"io_bytes": io_bytes}

    def memory_formulas(self) -> dict[str, str | None]:
        """Return peak, argument and temporary memory as polynomials in the symbolic sizes.

        The program is compiled at several sizes, which are multiples of 16: memory is allocated in
        units. A figure is None if no polynomial of a degree up to 2 has its values. Bytes that the
        kernels of the CPU allocate are not included.

        Raises CompileError if the program cannot be compiled.

        >>> lowered.memory_formulas()
        {'peak': '520*b', 'arguments': '512*b', 'temporaries': '0'}
        """
        from olympus_core.analysis.cost.formulas import formulas  # few programs need it

        names = ("peak", "arguments", "temporaries")

        def count(sizes: Mapping[str, int]) -> dict[str, int | None]:
            memory = self.at_sizes(sizes).compile().memory()
            return {name: getattr(memory, name) for name in names}

        s = self.signature
        return formulas(solved(s.in_avals, s.arg_names), count, multiple=16, degree=2)

    def _check_sizes(self) -> None:
        """Raise UsageError if an argument has a symbolic size."""
        s = self.signature
        symbolic = [
            f"{name} {aval.short_name()}"
            for name, aval in zip(s.arg_names, s.in_avals, strict=True)
            if aval.is_symbolic
        ]
        if symbolic:
            variables = solved(s.in_avals, s.arg_names).variables
            raise UsageError(
                f"'{self.fun_name}' has the symbolic sizes {', '.join(variables)} "
                f"({', '.join(symbolic)}), and a compiled program has fixed sizes",
                hint="give a number for each size, or use olympus.export, whose programs are "
                "compiled for the sizes of each call",
            )

    def compile(
        self,
        compiler_options: xla.Options | None = None,
        *,
        repeats: Repeats | None = None,
        optimize: xla.Optimize = "default",
    ) -> Compiled:
        """Compile for the target that the program was lowered for.

        `compiler_options` take precedence over the options given to `jit`.  Both take precedence
        over the options of the profile `optimize`, which `olympus.stages.optimize_options`
        returns.  `repeats` overrides the value that the program was lowered with.

        Raises CompileError if the compiler fails, UsageError for an unknown option and for symbolic
        sizes, and BackendError if the backend is not installed.
        """
        self._check_sizes()
        if repeats is not None:
            lowered = self._with_repeats(compilation.checked_repeats(repeats))
            if lowered is not self:
                return lowered.compile(compiler_options, optimize=optimize)
        options = self._options(compiler_options, optimize)
        where, entry = self._attached()
        executable = compilation.compile_module(
            self.module,
            self.target,
            options,
            None if where is None else where.devices,
            () if where is None else where.shardings,
            name=f"jit_{self.fun_name}",
            in_avals=(*self.constants.avals, *self.signature.in_avals),
            inspected=None if self._origin is None else self._origin.inspected(self.module),
            calls=None if self._origin is None else self._origin.calls,
        )
        return self._compiled(executable, where, entry)

    def _options(
        self, compiler_options: xla.Options | None, optimize: xla.Optimize
    ) -> dict[str, str | int | bool | float]:
        """Return all options of a compilation, in the order of their precedence."""
        return {
            **xla.optimize_options(optimize, self.target),
            **dict(self.signature.compiler_options),
            **xla.checked_options(compiler_options),
        }

    def compile_request(
        self,
        compiler_options: xla.Options | None = None,
        *,
        optimize: xla.Optimize = "default",
    ) -> CompileRequest | None:
        """Return the input of `compile` with these arguments, as plain data for `compile_files`.

        The result is None if this process has to compile the program: the program is not for one
        CPU, calls Python functions, has inspections or needs options that depend on the machine.

        >>> jit(f).lower(1.0, target=Target("gpu", "h200")).compile_request() is None
        True
        """
        self._check_sizes()
        is_for_one_cpu = self.target == xla.Target("cpu") and self._where is None
        if not is_for_one_cpu or self.callees or self.has_inspections or state.log_compiles:
            return None
        program = xla.module_bytes(self.module)
        if xla.product_options(self.module, program):
            return None
        return CompileRequest(
            program,
            self._options(compiler_options, optimize),
            self.signature.arg_names,
        )

    def _with_repeats(self, repeats: Repeats) -> Lowered:
        """Return the program lowered with `repeats`; the same one if that makes no difference."""
        origin = self._origin
        if origin is None or origin.repeats == repeats:
            return self
        if not may_have_blocks(origin.entry, self._where, self.target):
            return self
        module, origin = compilation.lower(
            origin.source, origin.entry, self.target, repeats, origin.storage
        )
        return Lowered(self.signature, module, self.target, origin=origin)

    def load(self, executable: bytes) -> Compiled:
        """Return the result of an earlier `compile` of this program, from its `serialize()`.

        `executable` is native code: load it only if it was compiled from this same program, by this
        version of jaxlib, on a machine like this one.

        Raises ArtifactError if the bytes are damaged or do not fit, and BackendError if this
        machine does not have the target's devices.

        >>> lowered.load(lowered.compile().serialize())(x, y)
        Array(10, dtype=int32, weak_type=True)
        """
        where, entry = self._attached()
        devices = None if where is None else where.devices
        calls = None if self._origin is None else self._origin.calls
        loaded = xla.load_executable(executable, self.target, devices, calls)
        return self._compiled(loaded, where, entry)

    def device_order(self) -> tuple[int, ...]:
        """Return the places of the program's devices in the order of their ids; () for one device.

        The executable has this order, and the module does not.

        >>> jit(f).lower(1.0).device_order()
        ()
        """
        if self._where is None or self._where.devices is None:
            return ()
        numbers = [device.id for device in self._where.devices]
        return tuple(sorted(range(len(numbers)), key=numbers.__getitem__))

    def _attached(self) -> tuple[Placement | None, EntryAttributes]:
        """Return the placement on devices of the target, and the shardings on those devices."""
        s = self.signature
        entry = EntryAttributes(
            s.name,
            donated=s.donated,
            in_shardings=s.in_shardings,
            out_shardings=s.out_shardings,
        )
        entry = shifted_entry(entry, len(self.constants), whole_on_mesh(self._where))
        if self._where is None:
            return None, entry
        return attached(self._where, entry, self.target, self.fun_name)

    def _compiled(
        self, executable: Any, where: Placement | None, entry: EntryAttributes
    ) -> Compiled:
        s = self.signature
        if where is None:
            if self.target.backend == "cpu":
                return compiled_here(s, executable, self.target, self)
            if isinstance(executable, xla.CompileOnlyExecutable):
                return AbsentCompiled(s, executable, self.target, self)
            where = on_first_device(self.target)
        avals = (*self.constants.avals, *s.in_avals), s.out_avals
        own = (*[None] * len(self.constants), *s.own_shardings) if s.own_shardings else ()
        program = with_shardings(executable, avals, entry, where, own)
        return ShardedCompiled(s, program, self.target, self)

    def read_compiled(
        self,
        hlo: str,
        executable: bytes,
        shardings: xla.SerializedShardings | None = None,
        *,
        is_checked: bool = False,
    ) -> Compiled:
        """Return the result of an earlier `compile` of this program, for inspection only.

        `hlo` is the result of its `as_text()`, and `executable` of its `serialize()`.  No device
        is needed.  Memory, estimates and collectives are those of the compiled program.  With
        `shardings`, its `compiler_shardings()`, so are the shardings, which need as many devices,
        attached or described by the target.  For a GPU,
        the sizes that only its runtime knows are None.  With `is_checked` the caller knows that
        `hlo` is an HLO module, and it is read when a figure of it is used.

        Raises ArtifactError if `hlo` is not an HLO module, or `shardings` are not those of the
        program.

        >>> lowered.read_compiled(compiled.as_text(), compiled.serialize()).memory().peak
        12288
        """
        saved = xla.saved_executable(hlo, executable, self.target, shardings, is_checked=is_checked)
        if shardings is not None and self._where is not None:
            s = self.signature
            if [*map(len, shardings)] != [len(self.constants) + len(s.in_avals), len(s.out_avals)]:
                raise ArtifactError("the shardings are not those of the program")
            return self._compiled(saved, *self._attached())
        return SavedCompiled(self.signature, saved, self.target, self, self._where)
