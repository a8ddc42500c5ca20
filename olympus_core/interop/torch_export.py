"""The export of a PyTorch module by `torch.export`, in operators that have a conversion."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus_core.base.errors import TraceError
from olympus_core.interop.torch_modules import (
    decompositions,
    export_tracing,
    symbolic_shapes,
    torch,
)

#: The loggers of PyTorch that report an error that it also raises.
_LOGGERS = ("torch.fx.experimental.symbolic_shapes", "torch._subclasses.fake_tensor")
#: The beginnings of PyTorch's warnings about itself: a deprecation, and the attributes of an LSTM.
_WARNINGS = (
    (r"`isinstance\(treespec, LeafSpec\)`", FutureWarning),
    (r"The tensor attributes? .*_flat_weights", UserWarning),
)


def export(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the exported program of a module, for the types and statics of a call.

    Raises TraceError if the control flow or a size depends on values, and the errors of the module
    and of `torch.export`.
    """
    with _quiet():
        try:
            exported = torch.export.export(module, tuple(args), dict(kwargs), strict=False)
        except symbolic_shapes.GuardOnDataDependentSymNode as error:
            raise TraceError(
                f"{type(module).__name__} needs the value of a tensor in Python, as `if` and `int` "
                "do, and it has none when it is traced",
                hint="torch.where selects by values; a number can be a static argument",
            ).with_traceback(error.__traceback__) from error  # it has the line
        table = torch.export.default_decompositions()
        table.update(decompositions)
        return exported.run_decompositions(table)


@contextlib.contextmanager
def evaluation(module: Any) -> Iterator[None]:
    """A context in which a module and its parts are in evaluation mode."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """A context without PyTorch's messages about itself, and without its prints of graphs."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    export_tracing.print = _ignore  # it prints the graph of a failed export
    try:
        with warnings.catch_warnings():
            for message, category in _WARNINGS:
                warnings.filterwarnings("ignore", message, category)
            yield
    finally:
        del export_tracing.print
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _ignore(*_values: Any, **_options: Any) -> None:
    """Print nothing."""
