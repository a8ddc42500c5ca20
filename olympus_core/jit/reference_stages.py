"""The stages of a function that uses mutable references."""

from __future__ import annotations

from typing import Any

from olympus_core.base import tree
from olympus_core.jit.reference_calling import ReferenceProgram
from olympus_core.stages.compiled import Compiled
from olympus_core.stages.interface import Stage
from olympus_core.stages.lowered import Lowered
from olympus_core.stages.stages import Traced
from olympus_core.transforms import references


class _ReferenceStage(Stage):
    """A stage whose arguments and result are those of the user's function.

    `signature` is that of the program, in which the values of references are arguments and results.
    """

    references: ReferenceProgram

    def _own_arguments(self, leaves: Any) -> Any:
        """Return the arguments' leaves as (args, kwargs), without values of closed references."""
        return self.references.own_arguments(self.signature.in_tree.unflatten(leaves))

    def _own_result(self, leaves: Any) -> Any:
        """Return the leaves of the result, without the values of references."""
        return self.signature.out_tree.unflatten(leaves)[1]

    @property
    def in_tree(self) -> tree.PyTreeDef:
        """The structure of (args, kwargs), without static arguments."""
        return tree.structure(self._own_arguments(range(len(self.signature.in_avals))))

    @property
    def out_tree(self) -> tree.PyTreeDef:
        """The structure of the result."""
        return tree.structure(self._own_result(range(len(self.signature.out_avals))))

    @property
    def result_names(self) -> tuple[str, ...]:
        """The name of each array of the program's results, with those of the references."""
        leaves = self.signature.out_tree.unflatten(range(len(self.signature.out_avals)))
        return tuple("result" + tree.keystr(path) for path, _ in tree.flatten_with_path(leaves)[0])

    @property
    def in_avals(self) -> Any:
        """The ShapedArray of each argument, in the structure (args, kwargs)."""
        return self._own_arguments(self.signature.in_avals)

    @property
    def out_avals(self) -> Any:
        """The ShapedArray of each array of the result, in the structure of the result."""
        return self._own_result(self.signature.out_avals)

    @property
    def args_info(self) -> Any:
        """The ArgInfo of each argument, in the structure (args, kwargs)."""
        return self._own_arguments(self.arguments)

    @property
    def out_info(self) -> Any:
        """The ShapeDtypeStruct of each array of the result, in the structure of the result."""
        return self.signature.out_tree.unflatten(tree.leaves(super().out_info))[1]


class ReferenceTraced(_ReferenceStage, Traced):
    """A traced function that uses references."""

    def __init__(self, traced: Traced, program: ReferenceProgram) -> None:
        super().__init__(traced.signature, traced.olympuspr)
        self.references = program

    def _lower(self, *args: Any) -> Lowered:
        return ReferenceLowered(super()._lower(*args), self.references)


class ReferenceLowered(_ReferenceStage, Lowered):
    """A lowered function that uses references."""

    def __init__(self, lowered: Lowered, program: ReferenceProgram) -> None:
        super().__init__(lowered.signature, lowered.module, lowered.target)
        self.__dict__.update(lowered.__dict__)
        self.references = program

    def _compiled(self, *args: Any) -> Compiled:
        return ReferenceCompiled(super()._compiled(*args), self, self.references)


class ReferenceCompiled(_ReferenceStage, Compiled):
    """A compiled function that uses references: a call writes them."""

    def __init__(self, inner: Compiled, lowered: Lowered, program: ReferenceProgram) -> None:
        super().__init__(inner.signature, inner.executable, inner.target, lowered, inner.constants)
        self.references = program
        self._inner = inner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program, and write the references among the arguments and the closed ones.

        The references may be other ones than in `lower`.

        Raises as `Compiled` does, and ArgumentError for one reference in two places.
        """
        args, kwargs, passed = references.unboxed(args, kwargs)
        return self.references.run(self._inner, args, kwargs, passed)

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return self._inner.num_devices

    @property
    def input_shardings(self) -> Any:
        """The sharding of each argument, in the structure (args, kwargs)."""
        return self.references.own_arguments(self._inner.input_shardings)

    @property
    def output_shardings(self) -> Any:
        """The sharding of each array of the result, in the structure of the result."""
        return self._inner.output_shardings[1]

    @property
    def input_formats(self) -> Any:
        """The `Format` of each argument, in the structure (args, kwargs)."""
        return self.references.own_arguments(self._inner.input_formats)

    @property
    def output_formats(self) -> Any:
        """The `Format` of each array of the result, in its structure."""
        return self._inner.output_formats[1]
