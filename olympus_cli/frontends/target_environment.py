"""The environment of a target's program: its variables, and whether 64-bit dtypes are enabled.

Each worker process loads the programs of one target. A process that loads several targets in turn,
such as a test, has the environment of the last one.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import olympus
from olympus_cli.spec.model import TargetSpec

_JAX_X64 = "JAX_ENABLE_X64"
#: The variables that the last target changed, with their values before; None if absent.
_before: dict[str, str | None] = {}
#: The switch before the first target that changed it.
_switch: list[bool] = []


def set_environment(spec: TargetSpec) -> None:
    """Set the variables and the switch of a target, and unset those of an earlier target.

    It precedes the import of the target's module.

    >>> set_environment(spec)  # spec.env == {"MODE": "fast"}
    >>> "MODE" in os.environ
    True
    """
    for name, value in _before.items():
        _set(name, value)
    _before.clear()
    variables = dict(spec.env)
    if spec.x64 is not None:
        variables.setdefault(_JAX_X64, "true" if spec.x64 else "false")
    for name, text in variables.items():
        _before[name] = os.environ.get(name)
        _set(name, text)
    _switch_x64(spec.x64)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _switch_x64(wanted: bool | None) -> None:
    """Set the switch of OLYMPUS, and that of JAX if it is imported already."""
    if wanted is None and not _switch:
        return
    if not _switch:
        _switch.append(bool(olympus.config.x64_enabled))
    value = _switch[0] if wanted is None else wanted
    olympus.config.update("enable_x64", value)
    jax: Any = sys.modules.get("jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", value)
