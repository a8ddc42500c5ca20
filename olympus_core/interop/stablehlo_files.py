"""Programs of other tools, read from StableHLO or HLO."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from olympus_core import xla
from olympus_core.analysis.cost.cost import Cost
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArgumentError, ArtifactError, UsageError
from olympus_core.base.regular_files import read_regular
from olympus_core.execution.compilation import Linalg, Repeats, checked_linalg, checked_repeats
from olympus_core.execution.hidden_arguments import (
    Constants,
    HiddenArguments,
    checked_constants,
    with_constants,
)
from olympus_core.execution.spmd import Placement
from olympus_core.interop.gspmd_shardings import replace_gspmd
from olympus_core.interop.module_devices import (
    declared_placement,
    entry_shardings,
    prepare_devices,
)
from olympus_core.interop.shardy_in_hlo import restore_shardy
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.entry_constants import with_entry_constants
from olympus_core.mlir.regions import check_recursion
from olympus_core.raising.raising import aval_of, raise_module
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.stages.interface import Interface
from olympus_core.stages.stages import Lowered, Traced, requested_target
from olympus_core.xla.runtime.program_formats import (
    dynamic_arguments,
    main_function,
    parse_program,
    refined,
)

if TYPE_CHECKING:
    from olympus_core.primitives.host_function import FlatFunction

_T = TypeVar("_T")
#: largest file that is read, in bytes
_MAX_FILE = 2**31
_RESULT_NAMES = ("olympus.result_info", "jax.result_info")
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


class UnchangedProgram(Traced):
    """A program that is compiled as it was read, without simplification and outlining.

    `reason` is the reason why it has no Olympuspr, for messages. A program of several devices
    declares a mesh. `constants` are the values of the first arguments of the module, which are not
    in `signature`.
    """

    def __init__(
        self,
        signature: Interface,
        module: Any,
        reason: str,
        constants: HiddenArguments | None = None,
    ) -> None:
        self.signature = signature
        self.module = module
        self.reason = reason
        self._constants = constants or HiddenArguments()
        check_recursion(module)
        self._where = declared_placement(signature, module)

    @property
    def olympuspr(self) -> Olympuspr:  # type: ignore[override]
        """Raise UsageError: the program has no Olympuspr."""
        self._fail()

    @functools.cached_property
    def reference_program(self) -> Olympuspr:
        """The program raised from the module.

        Raises UsageError for a module that cannot be raised.
        """
        try:
            return with_constants(raise_module(self.module), self._constants)
        except UnraisableError as exc:
            raise UsageError(
                f"'{self.fun_name}' cannot be verified operation by operation: {exc}"
            ) from None

    def _fail(self) -> NoReturn:
        raise UsageError(f"'{self.fun_name}' is compiled unchanged, because {self.reason}")

    def lower(
        self,
        target: xla.Target | None = None,
        *,
        lowering_platforms: str | Sequence[str] | None = None,
        repeats: Repeats = "auto",
        linalg: Linalg = "auto",
        constants: Constants = "embed",
    ) -> Lowered:
        """Return the module as it was read, for a target: by default the CPU."""
        checked_repeats(repeats)
        checked_linalg(linalg)
        checked_constants(constants)
        target = requested_target(target, lowering_platforms)
        module, hidden = self.module, self._constants
        if constants == "embed" and len(hidden):
            module, hidden = with_entry_constants(module, hidden.arrays), HiddenArguments()
        target = target or xla.Target("cpu")
        return Lowered(self.signature, module, target, self._where, constants=hidden)

    def cost(self, trips: Mapping[str, int] | None = None) -> Cost:
        """Return the cost of the program: see `Lowered.cost`."""
        return self.lower().cost(trips)

    def placement(self) -> Placement | None:
        """Return the number of devices of the program's mesh; None without a mesh."""
        return self._where


def read(
    source: bytes | str | os.PathLike[str],
    *,
    name: str = "",
    function: str = "main",
    shapes: Mapping[str, ShapeDtypeStruct] | Sequence[ShapeDtypeStruct] = (),
    as_is: bool = False,
    host_functions: Sequence[FlatFunction] = (),
) -> Traced:
    """Return the program of a file, or of the bytes of one, as a traced function.

    The formats are StableHLO and MHLO (text, bytecode, portable artifacts), files of `jax.export`,
    and HLO (text or protocol buffer). The arguments are flat, in the order of the program. Their
    names are those in its locations, such as `params['w']`, or `arg0`, `arg1`, ... The operations
    have the lines of the program that the tool read, if the module has them.

    The program is raised to an Olympuspr, so that it is simplified and its repeated blocks are
    compiled once. With `as_is` it is compiled unchanged, and so is a program that cannot be raised:
    one with side effects, or with types that are not arrays.

    A program for several devices has shardings of Shardy, as JAX writes them, or of GSPMD. It runs
    on as many devices as its meshes have.

    Args:
      source: the path of a file, or its bytes.
      name: the name of the program in messages; by default that of the file.
      function: the function of the module to read.
      shapes: the types of arguments, by name or in order; arguments with dynamic shapes need one.
      as_is: True to compile the module unchanged.
      host_functions: the Python functions that the program calls, in the order of their indices;
        without them, or with `as_is`, a program that calls Python is compiled and cannot run.

    Raises:
      ArtifactError: the content is not a program in one of the formats, or has no `main`.
      EntryError: the module does not have the `function`.
      ArgumentError: a shape is missing, or does not fit its argument.
      UsageError: the program is for several replicas, or for several devices without a mesh.
      OSError: the file cannot be read.

    >>> traced = read("step.mlir")
    >>> traced.lower().compile()(*arrays)
    """
    if isinstance(source, bytes):
        content, name = source, name or "the program"
    else:
        name = name or Path(source).name
        content = read_regular(source, _MAX_FILE)
    module = replace_gspmd(restore_shardy(parse_program(content, name), name), name)
    module = _one_function(module, function, name)
    names = _names(main_function(module))
    by_index = _by_index(shapes, names)
    _check_shapes(module, names, by_index)
    dynamic = dynamic_arguments(module)
    if dynamic:
        try:
            module = refined(module, {i: by_index[i] for i in dynamic}, name)
        except ArtifactError as exc:
            raise ArgumentError(str(exc)) from None
    prepare_devices(module)
    stem = Path(name).name.partition(".")[0]
    stem = "".join(c if c.isprintable() else "_" for c in stem)  # also a byte that is not UTF-8
    function_type = main_function(module).type
    has_order = any(map(mlir.is_token, function_type.inputs))
    if has_order and host_functions and as_is:
        raise UsageError(
            f"'{name}' has ordered effects, and is compiled only if OLYMPUS lowers it",
            hint="leave out as_is",
        )
    signature = _signature(module, stem or "main", names, has_order and bool(host_functions))
    if as_is:
        return UnchangedProgram(signature, module, "it is read with as_is")
    try:
        in_shardings, out_shardings = entry_shardings(module)
        program = raise_module(module, host_functions=host_functions)
    except UnraisableError as exc:
        if has_order:
            raise UsageError(
                f"'{name}' has ordered effects, and OLYMPUS cannot lower it: {exc}"
            ) from None
        return UnchangedProgram(signature, module, str(exc))
    if has_order:
        in_shardings = _of_arrays(in_shardings, function_type.inputs)
        out_shardings = _of_arrays(out_shardings, function_type.results)
    placed = signature._replace(in_shardings=in_shardings, out_shardings=out_shardings)
    return Traced(placed, program)


def _one_function(module: Any, function: str, name: str) -> Any:
    """Return the module with the function as its `main`, which is public."""
    chosen = main_function(module, function, name)
    if function == "main":
        return module
    table, symbols = mlir.ir.SymbolTable, {}
    for view in module.body.operations:
        if "sym_name" in view.operation.attributes:
            symbols[view.operation.attributes["sym_name"].value] = view.operation
        if view.operation.name == "func.func":
            view.operation.attributes["sym_visibility"] = mlir.string_attr("private")
    # The function may be called, and may call main: calls of both are renamed.
    free = next(x for x in (f"main_{i}" for i in itertools.count()) if x not in symbols)
    for old, new in (("main", free), (function, "main")):
        if old in symbols:
            table.set_symbol_name(symbols[old], new)
            table.replace_all_symbol_uses(old, new, module.operation)
    chosen.operation.attributes["sym_visibility"] = mlir.string_attr("public")
    return module


def _names(function: Any) -> list[str]:
    """Return the names of the arguments; each once, and `arg<i>` for one that cannot be shown."""
    names: list[str] = []
    for i, argument in enumerate(function.operation.regions[0].blocks[0].arguments):
        location = argument.location
        name = ""
        if isinstance(location, mlir.ir.NameLoc):
            with mlir.readable("the program"):
                name = location.name_str
        names.append(name if name and name.isprintable() and name not in names else f"arg{i}")
    return names


def _result_names(function: Any, count: int) -> tuple[str, ...]:
    """Return the names of the results that JAX or OLYMPUS has written.

    The tuple is empty unless all names differ and can be shown.
    """
    names = []
    with mlir.readable("the program"):
        for own in function.operation.attributes.get("res_attrs") or []:
            infos = [own[name].value for name in _RESULT_NAMES if name in own]
            names += [x if x.startswith("result") else f"result{x}" for x in infos[:1]]
    is_usable = len(set(names)) == count and all(map(str.isprintable, names))
    return tuple(names) if is_usable else ()


def _by_index(
    shapes: Mapping[str, ShapeDtypeStruct] | Sequence[ShapeDtypeStruct], names: Sequence[str]
) -> dict[int, ShapedArray]:
    """Return the requested types by the index of the argument."""
    if not isinstance(shapes, Mapping):
        if len(shapes) > len(names):
            raise ArgumentError(
                f"the program takes {len(names)} arrays, and {len(shapes)} shapes are given"
            )
        shapes = dict(zip(names, shapes, strict=False))
    unknown = [name for name in shapes if name not in names]
    if unknown:
        raise ArgumentError(
            f"the program has no argument {unknown[0]!r}",
            hint=f"its arguments are {', '.join(names[:20])}",
        )
    return {names.index(name): shaped(x.shape, x.dtype) for name, x in shapes.items()}


def _check_shapes(module: Any, names: Sequence[str], shapes: Mapping[int, ShapedArray]) -> None:
    """Raise ArgumentError if a type does not fit its argument, or a dynamic one has none."""
    for i, kind in enumerate(main_function(module).type.inputs):
        if not isinstance(kind, mlir.ir.RankedTensorType):
            continue
        if i not in shapes:
            if not kind.has_static_shape:
                raise ArgumentError(
                    f"argument {names[i]!r} has the dynamic shape {kind}, and no shape is given",
                    hint=f'give its shape: --shapes "{names[i]}={_example(kind)}"',
                )
            continue
        aval = shapes[i]
        sizes = [None if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank)]
        fits = (
            len(sizes) == aval.ndim
            and all(n in (None, m) for n, m in zip(sizes, aval.shape, strict=True))
            and mlir.element_type(aval.dtype) == kind.element_type
        )
        if not fits:
            raise ArgumentError(
                f"argument {names[i]!r} has the type {kind}, and got {aval.short_name()}"
            )


def _example(kind: Any) -> str:
    """Return a shape that fits a dynamic type, such as f32[8,128]."""
    sizes = [8 if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank)]
    return f"{kind.element_type}[{','.join(map(str, sizes))}]"


def _of_arrays(values: Sequence[_T], types: Sequence[Any]) -> tuple[_T, ...]:
    """Return the values of arrays, without those of tokens; empty if `values` is."""
    return tuple([x for x, kind in zip(values, types, strict=False) if not mlir.is_token(kind)])


def _signature(module: Any, name: str, names: Sequence[str], has_order: bool) -> Interface:
    """Return the interface of a module; without the tokens of its effects if it `has_order`."""
    function = main_function(module)
    ins, outs = list(function.type.inputs), list(function.type.results)
    attributes = list(function.operation.attributes.get("arg_attrs") or [])
    if has_order:
        names, attributes = _of_arrays(names, ins), list(_of_arrays(attributes, ins))
        ins, outs = list(_of_arrays(ins, ins)), list(_of_arrays(outs, outs))
    try:
        inputs = tuple([aval_of(x) for x in ins])
        results = tuple([aval_of(x) for x in outs])
    except UnraisableError as exc:
        raise ArtifactError(f"the program's arguments and results are arrays, and {exc}") from None
    donated = frozenset([i for i, own in enumerate(attributes) if any(x in own for x in _DONATED)])
    out: Any = tuple(range(len(results)))
    if len(results) == 1:
        out = 0
    elif not results:
        out = None
    return Interface(
        name,
        tree.structure((tuple(range(len(inputs))), {})),
        tree.structure(out),
        tuple(names),
        inputs,
        results,
        donated,
        result_names=_result_names(function, len(results)),
    )
