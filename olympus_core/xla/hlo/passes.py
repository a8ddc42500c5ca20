"""Passes of users in XLA's pipeline, which change the HLO of each program that is compiled."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.errors import ArgumentError, UnsupportedError


class PipelineStage(enum.Enum):
    """The place of a pass in the pipeline: before or after the operations are scheduled."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def _transforms() -> Any:
    """Return the module of jaxlib that adds passes, which few programs need."""
    import jaxlib._xla

    return jaxlib._xla


def _checked(name: str, stage: Any, platforms: Sequence[str] | str | None) -> int:
    """Return the number of a stage; raise an error for another platform than the CPU."""
    if not isinstance(stage, PipelineStage):
        raise ArgumentError(f"stage must be a PipelineStage enum, got {type(stage)}")
    given = (platforms,) if isinstance(platforms, str) else platforms or ("cpu",)
    if others := [p for p in given if p != "cpu"]:
        raise UnsupportedError(
            f"the pass {name!r} can run in the compiler of the CPU alone, and is for {others[0]!r}",
            hint="leave platforms out",
        )
    value: int = stage.value
    return value


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Add a pass to the CPU's compiler, for all programs that are compiled afterwards.

    `callback` gets each module as a serialized HloModuleProto, and returns a changed one, or None
    for no change.  Passes of a stage run in the order of their registration.  Raises ArgumentError
    for a stage that is none, and UnsupportedError for another platform than "cpu".

    >>> sizes = []
    >>> register_hlo_module_transformation(lambda module: sizes.append(len(module)), name="sizes")
    >>> compiled = jit(lambda x: 3 * x - 7).lower(ones(5)).compile()
    >>> clear_hlo_module_transformation("sizes"), len(sizes) > 0
    (True, True)
    """
    _transforms().register_xla_transform(name, _checked(name, stage, platforms), callback)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Remove a pass from the CPU's compiler; return True if there was one of this name.

    >>> clear_hlo_module_transformation("unknown")
    False
    """
    return bool(_transforms().clear_xla_transform(name, _checked(name, stage, platforms)))
