"""The program of a bundle, called like the function that it was built from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_bundle.argument_arrays import typed_arrays
from olympus_bundle.arguments import ArgumentMatcher
from olympus_bundle.bundle_file import BundleFile, program_manifest
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
        self._result_tree = self.signature.result_tree
        args, named = self.signature.argument_tree.items
        self._is_flat = not named.items and all(node.kind == "leaf" for node in args.items)
        self._run = run.function(self._arrays)
        self._is_readable = run.is_readable
        self._is_direct = run.is_readable and self._result_tree.kind == "leaf"

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
        try:
            for x in leaves:  # jaxlib reads the bytes in native order
                if isinstance(x, np.ndarray) and not x.dtype.isnative:
                    leaves = self._arrays(leaves)
            buffers = self._run(*leaves)
            if self._is_direct:  # without another call in Python, which takes longer than this
                return np.asarray(buffers[0])
            results = self._values(buffers)
        except (JaxRuntimeError, ValueError) as exc:
            raise execution_error(exc) from None
        return self._result_tree.build(iter(results))

    def flat(self, leaves: Sequence[Any]) -> list[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        Raises as a call.
        """
        arrays = self._arrays(leaves)
        try:
            return self._values(self._run(*arrays))
        except (JaxRuntimeError, ValueError) as exc:
            raise execution_error(exc) from None

    def _values(self, buffers: Sequence[Any]) -> list[Array]:
        if self._is_readable:
            return list(map(np.asarray, buffers))
        return list(map(value, buffers, self.signature.results))

    def _arrays(self, leaves: Sequence[Any]) -> list[Array]:
        if len(leaves) != len(self.signature.arguments):
            leaves = self._matcher.leaves(tuple(leaves), {})
        return typed_arrays(leaves, self.signature.arguments)
