"""The choice of the frontend of a target, by the form of its entry and by its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus.errors import UsageError
from olympus_cli.frontends.program_source import ProgramSource
from olympus_cli.frontends.target_environment import set_environment
from olympus_cli.spec.entries import is_bundle, is_onnx, program_file
from olympus_cli.spec.fixed_sizes import with_fixed_sizes
from olympus_cli.spec.model import FromEntry, TargetSpec
from olympus_cli.spec.target_table import with_line

if TYPE_CHECKING:
    from olympus_cli.frontends.python import Traceable


def load_target(spec: TargetSpec, *, keeps_sizes: bool = False) -> ProgramSource:
    """Return the program of a target: import its entry or read its file, and bind its arguments.

    Symbolic sizes get values, unless with `keeps_sizes`.

    Raises:
        ArtifactError: the entry is a bundle that is damaged or not trusted.
        EntryError: the entry cannot be found, imported or read.
        UsageError: the arguments do not fit the program.

    Example: `load_target(target).trace().lower()`.
    """
    set_environment(spec)
    spec = spec if keeps_sizes else with_fixed_sizes(spec)
    return _load_file(spec) or _load_function(spec)


def values_from(spec: TargetSpec, source: FromEntry) -> list[tuple[str, Any]]:
    """Return the arrays that a function of the user returns, with their paths in the result.

    The function gets its values and the target's statics.

    Raises:
        EntryError: the function cannot be found or imported.
        TraceError: it failed.
        UsageError: its arguments are not the given ones.
    """
    set_environment(spec)
    if program_file(spec.entry) is None:
        return _load_function(spec).values_from(source)
    from olympus_cli.frontends.python import named_leaves, values_of

    return named_leaves(values_of(source, spec))


def _load_function(spec: TargetSpec) -> Traceable:
    """Return the function of a target, as one of OLYMPUS, JAX or PyTorch."""
    from olympus_cli.frontends.python import bound_function, entry_function
    from olympus_cli.frontends.torch_modules import is_torch_module, load_module, module_of_entry

    if spec.frontend == "torch":
        return load_module(module_of_entry(spec), spec)
    function = entry_function(spec)
    if spec.frontend == "auto" and is_torch_module(function):
        return load_module(function, spec)
    source = bound_function(function, spec)
    if spec.frontend == "olympus":
        return source
    from olympus_cli.frontends.jax_functions import chosen

    return chosen(source)


def _load_file(spec: TargetSpec) -> ProgramSource | None:
    """Return the program of a target's file; None if its entry is a function."""
    if spec.weights is not None and not is_onnx(spec.entry):
        error = UsageError(f"weights is for an ONNX model, and {spec.entry} is not one")
        raise with_line(error, spec, "weights")
    file = program_file(spec.entry)
    if file is None:
        return None
    if is_onnx(spec.entry):
        from olympus_cli.frontends.onnx_models import load_model  # few programs need it

        return load_model(spec, file)
    if is_bundle(spec.entry):
        from olympus_cli.frontends.bundles import load_bundle_file

        return load_bundle_file(spec, file)
    from olympus_cli.frontends.stablehlo import load_file

    return load_file(spec, file)
