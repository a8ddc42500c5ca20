"""Programs with symbolic sizes: each call has sizes, for which a program is loaded or compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from olympus_bundle.arguments import ArgumentMatcher
from olympus_bundle.errors import ArtifactError, UsageError
from olympus_bundle.manifest import Signature
from olympus_bundle.symbolic.manifest import SymbolicManifest

Array = np.ndarray[Any, Any]


class SymbolicProgram:
    """A loaded program for all sizes that fulfill its constraints.

    A call checks its sizes. The first call with new sizes loads the program that the bundle has for
    them, or else gives the StableHLO these sizes and compiles it. The result is stored in the
    user's folder of results. Several threads may call at the same time.

    >>> load("forward.olympus")(np.ones((5, 128), "float32")).shape   # f32[b,128]
    (5, 10)
    """

    def __init__(
        self,
        path: Path,
        manifest: SymbolicManifest,
        signature: Signature,
        load_part: Callable[[Mapping[str, int]], Any],
    ) -> None:
        self.path, self.manifest = path, manifest
        #: the signature for the first of the compiled sizes
        self.signature = signature
        self._load_part = load_part
        try:
            manifest.check_signature(signature)
        except ArtifactError as exc:
            raise ArtifactError(f"{path} cannot be used: {exc}") from None
        self._sizes = manifest.solver()
        self._matcher = ArgumentMatcher(manifest.function, signature)
        self._parts: dict[tuple[int, ...], Any] = {}
        self._by_shapes: dict[tuple[tuple[int, ...], ...], Any] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        variables = ", ".join(self.variables)
        return f"<program {self.manifest.name!r} of {self.path} for all sizes {variables}>"

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables in its sizes."""
        return self._sizes.variables

    def part(self, sizes: Mapping[str, int]) -> Any:
        """Return the program for values of all variables; load or compile it if necessary.

        Raises UsageError for values that break a constraint, and ArtifactError if it would have to
        be compiled and must not, or cannot.
        """
        self._sizes.check(sizes, self._refuse)
        key = tuple([sizes[name] for name in self.variables])
        with self._lock:
            if key not in self._parts:
                self._parts[key] = self._load_part(dict(sizes))
            return self._parts[key]

    def _refuse(self, fault: str) -> NoReturn:
        raise UsageError(f"{self.path} has no program for these sizes: {fault}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of any sizes that fulfill the constraints.

        Raises SignatureError if the arguments have other types, if two of them give a variable two
        values, or if a constraint does not hold. Raises ArtifactError as `part`.
        """
        leaves = self._matcher.leaves(args, kwargs)
        program, results = self._run(leaves)
        return program.signature.result_tree.build(iter(results))

    def flat(self, leaves: Sequence[Any]) -> Sequence[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        Raises as a call.
        """
        return self._run(leaves)[1]

    def _run(self, leaves: Sequence[Any]) -> tuple[Any, Sequence[Array]]:
        shapes = tuple([np.shape(x) for x in leaves])
        program = self._by_shapes.get(shapes)
        if program is None:
            program = self.part(self._sizes.of(shapes, self.manifest.function))
            self._by_shapes[shapes] = program
        return program, program.flat(leaves)
