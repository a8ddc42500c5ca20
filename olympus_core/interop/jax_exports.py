"""Files of `jax.export`, written from traced programs."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base import tree
from olympus_core.base.errors import UsageError
from olympus_core.interop.jax_calls import program_p
from olympus_core.interop.jax_modules import INSTALL, JaxImportError, jax, jax_export, jax_jit
from olympus_core.ir.effects import calls_python
from olympus_core.stages.stages import Traced
from olympus_core.transforms.staging import hoist_consts

#: JAX's name of a backend, where it is another one.
_PLATFORMS = {"gpu": "cuda"}


def export_file(traced: Traced, backends: Sequence[str] = ("cpu",), *, vjp_order: int = 0) -> bytes:
    """Return the file of `jax.export` with a program, for one backend or several.

    `backends` are names such as "cpu" and "gpu". `jax.export.deserialize` reads the file in a
    process without OLYMPUS. Arguments and results are tuples, lists and dicts there: a namedtuple
    or a registered class is a tuple of its parts. The file has derivatives to the order
    `vjp_order`.

    Raises:
      UsageError: the program is for several devices, or JAX cannot export it.
      JaxImportError: the package flatbuffers is missing.

    >>> content = export_file(olympus.jit(f).trace(x), ["cpu", "gpu"])
    >>> jax.export.deserialize(bytearray(content)).call(x)
    """
    where = traced.placement()
    if where is not None and where.num_devices > 1:
        raise UsageError(
            f"'{traced.fun_name}' is for {where.num_devices} devices, and a file of jax.export is "
            "written for one",
            hint="export it as stablehlo, which has the shardings",
        )
    program, consts = hoist_consts(traced.reference_program)
    if calls_python(program):
        raise UsageError(
            f"'{traced.fun_name}' calls Python functions, and a file of jax.export has none",
            hint="leave debug.print and the callbacks out of the program",
        )
    constants = [array_to_numpy(x) for x in consts]
    signature = traced.signature
    is_double = any(x.dtype.itemsize == 8 for x in (*program.in_avals, *program.out_avals))
    platforms = [_PLATFORMS.get(name, name) for name in dict.fromkeys(backends)]

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves = jax.tree.leaves((args, kwargs))
        outs = program_p.bind(*constants, *leaves, program=program, name=signature.name)
        return _plain(tree.unflatten(signature.out_tree, list(outs)))

    call.__name__ = signature.name
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in signature.in_avals]
    args, kwargs = _plain(tree.unflatten(signature.in_tree, specs))
    x64 = is_double or bool(jax.config.jax_enable_x64)
    with _without_plugin_warnings(), jax.enable_x64(x64):
        try:
            exported = jax_export.export(jax_jit(call), platforms=platforms)(*args, **kwargs)
            return bytes(exported.serialize(vjp_order=vjp_order))
        except ImportError as exc:
            message = f"a file of jax.export needs the package flatbuffers: {exc}"
            raise JaxImportError(message, hint=INSTALL) from None
        except (ValueError, TypeError, NotImplementedError) as exc:
            reason = str(exc).strip().partition("\n")[0]
            raise UsageError(f"JAX cannot export '{signature.name}': {reason}") from exc


def _plain(value: Any) -> Any:
    """Return the same tree of tuples, lists and dicts, which JAX can store for every process."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    children = tree.flatten(value, is_leaf=lambda part: part is not value)[0]
    if len(children) == 1 and children[0] is value:
        return value
    return tuple([_plain(part) for part in children])


@contextlib.contextmanager
def _without_plugin_warnings() -> Iterator[None]:
    """Discard JAX's warning of a GPU compiler without the library that runs its programs."""
    logger = logging.getLogger("jax_plugins.xla_cuda13")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
