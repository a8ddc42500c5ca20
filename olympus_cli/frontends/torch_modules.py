"""Targets with a module of PyTorch as entry: PyTorch exports it, OLYMPUS compiles its program."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import olympus
from olympus.errors import EntryError
from olympus.sharding import expect_devices
from olympus_cli.faults.blame import blaming, defined_at
from olympus_cli.frontends.importing import load_value, without_plugin_messages
from olympus_cli.frontends.python import (
    Traceable,
    bound_function,
    entry_call,
    plain_value,
    refuse_placement,
)
from olympus_cli.spec.model import FromEntry, TargetSpec
from olympus_cli.spec.target_table import at_key, fitting_hints


@dataclass(frozen=True)
class TorchModule(Traceable):
    """A module, and the call of its `forward`, which is `function`, that its target describes."""

    module: Any

    def trace(self) -> olympus.stages.Traced:
        """Return the traced program, with its donations marked.

        Raises:
            TraceError: `forward` raised, cannot be exported or has an operator that is not
                supported; with its own line.
            UsageError: the target has a mesh.
        """
        from olympus.interop import torch  # it imports PyTorch and JAX

        refuse_placement(self, "PyTorch's")
        args, kwargs = self._given
        blamed = blaming(self.name, self.definition)
        with without_plugin_messages(), fitting_hints(self.spec), blamed:
            return torch.trace(
                self.module,
                [plain_value(x) for x in args],
                {name: plain_value(x) for name, x in kwargs.items()},
                donate_argnames=self.spec.donate,
                as_is=self.spec.as_is,
            )

    def default_values(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays of the module, by their names as arguments of the program."""
        from olympus.interop import torch

        with without_plugin_messages():
            state = torch.state(self.module)
        return {
            f"{argument}[{name!r}]": array
            for argument, arrays in state.items()
            for name, array in arrays.items()
        }

    def shapes_from(self, source: FromEntry) -> Any:
        """Return the shapes of the result of a function, whose tensors have no data."""
        from olympus.interop import torch

        call = entry_call(source, self.spec)
        name = str(getattr(call.func, "__qualname__", source.entry))
        with without_plugin_messages(), blaming(name, defined_at(call.func)):
            return torch.result_types(call)


def is_torch_module(value: object) -> bool:
    """Return True for a module of PyTorch; PyTorch is not imported.

    >>> is_torch_module(len)
    False
    """
    torch = sys.modules.get("torch")
    module = getattr(getattr(torch, "nn", None), "Module", None)
    return module is not None and isinstance(value, module)


def load_module(module: Any, spec: TargetSpec) -> TorchModule:
    """Return a module with the target's arguments bound to its `forward`.

    Raises:
        UsageError: see `bound_function`.
    """
    bound = bound_function(module.forward, spec)
    return TorchModule(bound.spec, bound.function, bound.signature, bound.binding, module)


def module_of_entry(spec: TargetSpec) -> Any:
    """Return the module that the entry of a target names: itself, or the result of a function.

    The function, or class, takes no arguments.

    Raises:
        EntryError: the entry cannot be found or imported, or gives no module.
        TraceError: the function failed.
    """
    expect_devices(spec.num_devices)
    with at_key(spec, "entry"):
        value = load_value(spec.entry, spec.root, spec.python_path, spec.checkout)
        if is_torch_module(value):
            return value
        if not callable(value) or _needs_arguments(value):
            raise EntryError(
                f"{spec.entry} is {_described(value)}, not a module of PyTorch",
                hint="name a torch.nn.Module, or a function without arguments that returns one",
            )
    with blaming(str(getattr(value, "__qualname__", spec.entry)), defined_at(value), "it ran"):
        result = value()
    if is_torch_module(result):
        return result
    with at_key(spec, "entry"):
        raise EntryError(f"{spec.entry} returns {_described(result)}, not a module of PyTorch")


def _needs_arguments(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # a built-in without a signature
        return False
    return False


def _described(value: Any) -> str:
    if callable(value):
        return "a class with arguments" if inspect.isclass(value) else "a function with arguments"
    return f"a value of type {type(value).__qualname__}"
