"""Programs of several numbers of rows: a call pads its arguments to the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olympus_bundle.arguments import AddedArguments, ArgumentMatcher, arguments_of
from olympus_bundle.buckets import (
    ALL_SIZES,
    Array,
    BucketManifest,
    check_rows,
    common_rows,
    padded_rows,
    row_mask,
    rows_of,
)
from olympus_bundle.errors import ArtifactError, SignatureError

#: In place of a mask among the arguments of a call.
_ANY = np.zeros(1, np.bool_)


class BucketProgram:
    """A loaded program for several numbers of rows: called with any number up to the largest.

    A call pads the arguments to the next size, runs the program of that size, and returns the rows
    of the results. The program of a size is loaded when it is first needed. A mask is not an
    argument of the call. Several threads may call at the same time.

    >>> load("forward.olympus")(np.ones((5, 128), "float32")).shape   # sizes 1, 8 and 32
    (5, 10)
    """

    def __init__(
        self, path: Path, manifest: BucketManifest, load_part: Callable[[str], Any]
    ) -> None:
        self.path, self.manifest = path, manifest
        self._load_part = load_part
        self._parts: dict[str, Any] = {}
        self._lock = threading.Lock()
        #: the signature of the smallest size, with masks
        self.signature = self.part(manifest.sizes[0]).signature
        try:
            check_rows(manifest, self.signature)
        except ArtifactError as exc:
            raise ArtifactError(f"{path} cannot be used: {exc}") from None
        self._matcher = ArgumentMatcher(manifest.function, self.signature)
        self.masks = [i for i, x in enumerate(manifest.arguments) if x.fill == "mask"]
        names = {manifest.arguments[i].name for i in self.masks}
        added = [(p, name, _ANY) for p, name, *_ in arguments_of(self.signature) if name in names]
        reason = "is the mask of the padded rows, which a call adds"
        positions = len(self.signature.argument_tree.items[0].items)
        self._added = AddedArguments(manifest.function, positions, added, reason)
        self.takes = self._added.takes

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        return (
            f"<program {self.manifest.name!r} of {self.path} for {self.manifest.symbol} = {sizes}>"
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows of its programs, in increasing order."""
        return self.manifest.sizes

    def part(self, size: int) -> Any:
        """Return the program for exactly `size` rows, one of `sizes`; load it if necessary."""
        return self._member(self.manifest.part(size))

    def _member(self, name: str) -> Any:
        with self._lock:
            if name not in self._parts:
                self._parts[name] = self._load_part(name)
            return self._parts[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments with any number of rows, and return as many.

        Raises SignatureError if the arguments have other types, different numbers of rows, or more
        rows than the largest size and the program does not split them.
        """
        args = self._added.add(args, kwargs)
        leaves = [np.asarray(x) for x in self._matcher.leaves(args, kwargs)]
        return self.signature.result_tree.build(iter(self._flat(leaves)))

    def flat(self, leaves: Sequence[Any]) -> list[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        The arguments are without the masks. Raises as a call.
        """
        rest = iter(leaves)
        arguments = self.manifest.arguments
        return self._flat([_ANY if x.fill == "mask" else np.asarray(next(rest)) for x in arguments])

    def _flat(self, leaves: Sequence[Array]) -> list[Array]:
        m, rows, most = self.manifest, common_rows(leaves, self.manifest), self.sizes[-1]
        if rows <= most:
            return self._run(leaves, rows)
        if m.oversize == "refuse":
            raise SignatureError(
                f"'{m.function}' takes up to {most} rows ({m.symbol}), and got {rows}"
            )
        if m.oversize == "refine":
            groups = zip(leaves, m.arguments, self.signature.arguments, strict=True)
            exact = [row_mask(i, rows, rows, a) if i.fill == "mask" else x for x, i, a in groups]
            return list(self._member(ALL_SIZES).flat(exact))
        parts = []
        for start in range(0, rows, most):
            end, pairs = min(start + most, rows), zip(leaves, m.arguments, strict=True)
            cut = [x if i.fill == "mask" else rows_of(x, i.axes, start, end) for x, i in pairs]
            parts.append(self._run(cut, end - start))
        # a result has rows along one axis, as the build has checked
        axes = [axis for (axis,) in (result.axes for result in m.results)]
        return [
            np.concatenate(x, axis) for x, axis in zip(zip(*parts, strict=True), axes, strict=True)
        ]

    def _run(self, leaves: Sequence[Array], rows: int) -> list[Array]:
        """Return the results of at most as many rows as the largest size."""
        size = self.manifest.size_for(rows) or rows
        program = self.part(size)
        groups = zip(leaves, self.manifest.arguments, program.signature.arguments, strict=True)
        results = program.flat([padded_rows(x, info, rows, size, a) for x, info, a in groups])
        pairs = zip(results, self.manifest.results, strict=True)
        return [rows_of(x, info.axes, 0, rows) for x, info in pairs]
