"""`pjit`, the `jit` of older programs, which uses the mesh of `with mesh:`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from olympus_core import xla
from olympus_core.api.jit import Jit, ShardedJit, jit
from olympus_core.arrays.mesh_context import using_mesh
from olympus_core.base import tree
from olympus_core.base.context import state
from olympus_core.ir.olympuspr import UNSPECIFIED
from olympus_core.jit.options import JitOptions
from olympus_core.jit.sharded_calling import Shardings
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.stages.stages import Traced
from olympus_core.xla import Options

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _entered() -> Mesh | None:
    """Return the mesh of the innermost `with mesh:`; None without one."""
    meshes: tuple[Mesh, ...] = state.entered_meshes
    return meshes[-1] if meshes else None


class Pjit(ShardedJit[_P, _R]):
    """The function that `pjit` returns."""

    caller = "pjit"

    def __init__(
        self, fun: Callable[_P, _R], options: JitOptions, shardings: Shardings, whole: Shardings
    ) -> None:
        super().__init__(fun, options, shardings)
        self._on_mesh = whole

    @property
    def shardings(self) -> Shardings:
        return self._requested if _entered() is None else self._on_mesh

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self._context():
            return super().__call__(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        with self._context():
            return super().trace(*args, **kwargs)

    def _with_values(self, fun: Callable[..., Any]) -> Jit[..., Any]:
        return Pjit(fun, self.options, self._requested.with_values(), self._on_mesh.with_values())

    def _context(self) -> contextlib.AbstractContextManager[None]:
        mesh = _entered()
        return contextlib.nullcontext() if mesh is None else using_mesh(mesh)


def pjit(
    fun: Callable[_P, _R],
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: xla.Device | None = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: Options | None = None,
) -> Jit[_P, _R]:
    """Return `jit(fun)`; within `with mesh:`, its PartitionSpecs and results are on that mesh.

    There, None in `in_shardings` and `out_shardings` means replicated arrays. Otherwise it is
    `jit`, which has the parameters and the errors.

    >>> with make_mesh((2,), ("data",), AxisType.Auto):
    ...     pjit(f, in_shardings=P("data"), out_shardings=None)(x).sharding.spec
    P()
    """
    given = Shardings.of(*map(_or_none, (in_shardings, out_shardings)))
    whole = Shardings.of(*map(_replicated, (in_shardings, out_shardings)))
    plain = jit(
        fun,
        in_shardings=given.ins,
        out_shardings=given.outs,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        keep_unused=keep_unused,
        device=device,
        backend=backend,
        inline=inline,
        compiler_options=compiler_options,
    )
    if isinstance(plain, ShardedJit) and plain.shardings.on_device:
        given = whole = plain.shardings
    return Pjit(fun, plain.options, given, whole)


def _or_none(shardings: Any) -> Any:
    return None if shardings is UNSPECIFIED else shardings


def _replicated(shardings: Any) -> Any:
    """Return the shardings on a mesh: None means replicated."""
    if shardings is UNSPECIFIED:
        return None
    return tree.map(_replicated_leaf, shardings, is_leaf=_is_none)


def _replicated_leaf(sharding: Any) -> Any:
    return PartitionSpec() if sharding is None else sharding


def _is_none(x: Any) -> bool:
    return x is None
