"""The program of a bundle, called like the function that it was built from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_bundle.argument_arrays import typed_arrays
from olympus_bundle.arguments import ArgumentMatcher
from olympus_bundle.bundle_file import BundleFile, program_manifest
from olympus_bundle.errors import OlympusError
from olympus_bundle.manifest import Signature, StoredExecutable
from olympus_runtime.bindings import JaxRuntimeError
from olympus_runtime.executable import Array, RunningProgram, value
from olympus_runtime.messages import execution_error


class Program:
    """A loaded program: called like its function, with NumPy arrays.

    Calls wait for their results, and several threads may call at the same time.
    `backend` is the one that it runs on; `executable` is None if it was compiled again.
    """

    def __init__(
        self, file: BundleFile, run: RunningProgram, backend: str, stored: StoredExecutable | None
    ) -> None:
        self.path, self.manifest = file.path, program_manifest(file)
        self.backend, self.executable = backend, stored
        self._matcher = ArgumentMatcher(self.manifest.function, self.signature)
        self._results = self.signature.results
        self._result_tree = self.signature.result_tree
        self._is_single = self._result_tree.kind == "leaf"
        args, named = self.signature.argument_tree.items
        self._is_flat = not named.items and all(node.kind == "leaf" for node in args.items)
        self._run = run.function(self._arrays)

    @property
    def signature(self) -> Signature:
        """The arguments and results: names, types and trees."""
        return self.manifest.signature

    @property
    def executables(self) -> tuple[StoredExecutable, ...]:
        """The executables in the bundle."""
        return self.manifest.executables

    def __repr__(self) -> str:
        return f"<program {self.manifest.name!r} of {self.path} on the {self.backend}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of the compiled types.

        Raises SignatureError (a TypeError) that lists the arguments of another type or structure,
        BackendError if the program fails, and CompileError if the memory is too small.
        """
        leaves = args if self._is_flat and not kwargs else self._matcher.leaves(args, kwargs)
        if not self._is_single:
            return self._result_tree.build(iter(self.flat(leaves)))
        try:
            (buffer,) = self._run(*leaves)
            return value(buffer, self._results[0])
        except OlympusError:
            raise
        except (JaxRuntimeError, ValueError) as exc:
            raise execution_error(exc) from None

    def flat(self, leaves: Sequence[Any]) -> Sequence[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        Raises as a call.
        """
        try:
            return list(map(value, self._run(*leaves), self._results))
        except OlympusError:
            raise
        except (JaxRuntimeError, ValueError) as exc:
            raise execution_error(exc) from None

    def _arrays(self, leaves: Sequence[Any]) -> list[Array]:
        if len(leaves) != len(self.signature.arguments):
            leaves = self._matcher.leaves(tuple(leaves), {})
        return typed_arrays(leaves, self.signature.arguments)
