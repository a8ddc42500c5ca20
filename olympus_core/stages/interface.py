"""The interface of a function in every stage: trees, types, names, donations and shardings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from olympus_bundle.manifest import ArrayInfo
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.dtypes import long_name
from olympus_core.placement.layout import Format
from olympus_core.placement.sharding import Sharding


class ArgInfo(ArrayInfo):
    """An array in the arguments or results of a program: its name, type, and donation.

    `name` is the user's name and path, such as `params['w']`. `donated` is True if the buffer is
    donated. Two are equal if their shapes, dtypes and donations are.

    >>> jit(f).trace(x).arguments[0].bytes
    12
    """

    __slots__ = ()

    @property
    def dtype_name(self) -> str:
        """The name of the dtype, such as "float32"."""
        return long_name(self.dtype)

    @property
    def aval(self) -> ShapedArray:
        """The type of the array."""
        return shaped(self.shape, self.dtype, self.weak_type)

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self.aval!r}, donated={self.donated})"


class Interface(NamedTuple):
    """The data that the three stages of a function share: name, trees, types, donations."""

    name: str
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    arg_names: tuple[str, ...]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    donated: frozenset[int] = frozenset()
    #: The compiler options given to `jit`, sorted by name.
    compiler_options: tuple[tuple[str, str | int | bool | float], ...] = ()
    #: The sharding of each array in a program of several devices; None if unspecified.
    in_shardings: tuple[Sharding | None, ...] = ()
    out_shardings: tuple[Sharding | None, ...] = ()
    #: The arguments' own shardings, from arrays that were put by name or from their types.
    own_shardings: tuple[Sharding | None, ...] = ()
    #: The name of each array of the result; empty for their paths in `out_tree`.
    result_names: tuple[str, ...] = ()
    #: False if `Compiled` reports no shardings of arguments that the program does not use.
    keep_unused: bool = True
    #: True if programs may move the results: the program is for the device of `default_device`.
    is_movable: bool = False


class Stage:
    """The base of the stages: the function's arguments and results."""

    def __init__(self, signature: Interface) -> None:
        self.signature = signature

    @property
    def fun_name(self) -> str:
        """The function's name."""
        return self.signature.name

    @property
    def in_tree(self) -> tree.PyTreeDef:
        """The structure of (args, kwargs), without static arguments."""
        return self.signature.in_tree

    @property
    def out_tree(self) -> tree.PyTreeDef:
        """The structure of the result."""
        return self.signature.out_tree

    @property
    def arg_names(self) -> tuple[str, ...]:
        """The name and path of each array argument, such as `params['w']`."""
        return self.signature.arg_names

    @property
    def result_names(self) -> tuple[str, ...]:
        """The name of each array of the result: usually its path, such as `result['loss']`."""
        if self.signature.result_names:
            return self.signature.result_names
        leaves = self.out_tree.unflatten(range(len(self.signature.out_avals)))
        paths, _ = tree.flatten_with_path(leaves)
        return tuple("result" + tree.keystr(path) for path, _ in paths)

    @property
    def in_avals(self) -> Any:
        """The ShapedArray of each argument, in the structure (args, kwargs)."""
        return self.in_tree.unflatten(self.signature.in_avals)

    @property
    def out_avals(self) -> Any:
        """The ShapedArray of each array of the result, in the structure of the result."""
        return self.out_tree.unflatten(self.signature.out_avals)

    @property
    def args_info(self) -> Any:
        """The ArgInfo of each argument, in the structure (args, kwargs)."""
        return self.in_tree.unflatten(self.arguments)

    @property
    def arguments(self) -> tuple[ArgInfo, ...]:
        """The argument arrays, in flattened order."""
        s = self.signature
        pairs = enumerate(zip(s.arg_names, s.in_avals, strict=True))
        return tuple(
            [ArgInfo(a.shape, a.dtype, i in s.donated, n, a.weak_type) for i, (n, a) in pairs]
        )

    @property
    def results(self) -> tuple[ArgInfo, ...]:
        """The arrays of the result, in flattened order."""
        pairs = zip(self.result_names, self.signature.out_avals, strict=True)
        return tuple([ArgInfo(a.shape, a.dtype, False, n, a.weak_type) for n, a in pairs])

    @property
    def out_info(self) -> Any:
        """The ShapeDtypeStruct of each array of the result, in the structure of the result."""
        s = self.signature
        shardings = s.out_shardings or [None] * len(s.out_avals)
        return s.out_tree.unflatten(
            [
                ShapeDtypeStruct(a.shape, a.dtype, sharding=x or a.explicit, weak_type=a.weak_type)
                for a, x in zip(s.out_avals, shardings, strict=True)
            ]
        )

    @property
    def input_shardings(self) -> Any:
        """The sharding of each argument, in the structure (args, kwargs); None if unspecified."""
        s = self.signature
        return placed_tree(s.in_tree, unlaid(s.in_shardings) or [None] * len(s.in_avals))

    @property
    def output_shardings(self) -> Any:
        """The sharding of each array of the result, in its structure; None if unspecified."""
        s = self.signature
        return placed_tree(s.out_tree, unlaid(s.out_shardings) or [None] * len(s.out_avals))

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The flat indices of the arguments whose buffers are donated."""
        return tuple(sorted(self.signature.donated))


def placed_tree(treedef: tree.PyTreeDef, places: Iterable[Sharding | Format | None]) -> Any:
    """Return a tree of shardings or formats; an array of keys has that of its words."""
    return tree.map(
        lambda x: x.data if _is_of_keys(x) else x, treedef.unflatten(places), is_leaf=_is_of_keys
    )


def _is_of_keys(x: Any) -> bool:
    return isinstance(getattr(x, "data", None), Sharding | Format)


def unlaid(shardings: Sequence[Sharding | None]) -> list[Sharding | None]:
    """Return shardings without the layouts that they request."""
    return [None if s is None else s.with_layout(None) for s in shardings]
