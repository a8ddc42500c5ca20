"""A program with weights for some of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olympus_bundle.arguments import AddedArguments, first_name
from olympus_bundle.manifest import ArrayInfo
from olympus_bundle.weights import Array, bound_values


class BoundProgram:
    """A program with weights for some of its arguments: a call takes the other ones.

    `arguments` are the other ones in flattened order. The weights of a program on the CPU are not
    copied if their place in the file is aligned, and once otherwise.

    >>> load("mlp.olympus", weights="mlp.safetensors")(x)
    """

    def __init__(self, program: Any, weights: Mapping[str, Array], path: Path) -> None:
        self.program, self.path = program, path
        bound = list(bound_values(program.signature, weights, path))
        self._names = [name for _, name, *_ in bound]
        masks = getattr(program, "masks", ())
        passed = [x for i, x in enumerate(program.signature.arguments) if i not in masks]
        self._is_bound = [first_name(x.name) in self._names for x in passed]
        takes = getattr(program, "takes", len(program.signature.argument_tree.items[0].items))
        values = [(position, name, value) for position, name, _, value in bound]
        reason = f"has its weights from {path}"
        self._added = AddedArguments(program.manifest.function, takes, values, reason)
        self._leaves = [x for *_, arrays, _ in bound for x in arrays]
        pairs = zip(passed, self._is_bound, strict=True)
        self.arguments: list[ArrayInfo] = [x for x, is_bound in pairs if not is_bound]

    def __repr__(self) -> str:
        return f"{repr(self.program)[:-1]}, with {', '.join(self._names)} from {self.path}>"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on the arguments that have no weights; raise as its own call."""
        return self.program(*self._added.add(args, kwargs), **kwargs)

    def flat(self, leaves: Sequence[Any]) -> list[Array]:
        """Return the results of a call in flattened order, for `arguments` in their order.

        Raises as a call.
        """
        bound, rest = iter(self._leaves), iter(leaves)
        values = [next(bound) if is_bound else next(rest) for is_bound in self._is_bound]
        return list(self.program.flat(values))
