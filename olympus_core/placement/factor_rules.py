"""Sharding rules by factors: the dimensions of operands and results that are split together.

A rule gives each dimension a factor, which is a name, or several factors whose product is its size.
Dimensions with one factor are split along the same axes of a mesh. The classes, the notation and
the messages are those of `jax.experimental.custom_partitioning`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from olympus_core.base.errors import ArgumentError

#: the leading dimensions of an array, any number of them; a number of the group may follow
BATCHING: str = "…"
_ELLIPSIS = "..."
_ARROW = "->"


class CompoundFactor(tuple[str, ...]):
    """The factors of one dimension, at least two, from the major one to the minor one.

    Raises ArgumentError (a ValueError) for fewer factors, and for one that is not a name.

    >>> CompoundFactor("b", "c")
    ('b', 'c')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ArgumentError("A compound factor should contain at least two factors")
        for factor in factors:
            if not isinstance(factor, str):
                raise ArgumentError(
                    f"Each element of CompoundFactor must be a str, but got {type(factor)}"
                )
            if batching_group(factor) is not None:
                raise ArgumentError("Ellipsis can't be used in a compound factor")
            _check_name(factor)
        return super().__new__(cls, factors)


class ArrayMapping(tuple[str | CompoundFactor, ...]):
    """The factor, or the CompoundFactor, of each dimension of an operand or a result.

    The first element may be `BATCHING`, for any number of leading dimensions. Raises ArgumentError
    (a ValueError) for other elements.

    >>> ArrayMapping(BATCHING, CompoundFactor("b", "c"), "d")
    ('…', ('b', 'c'), 'd')
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: str | CompoundFactor) -> ArrayMapping:
        for i, factor in enumerate(dim_mappings):
            if isinstance(factor, CompoundFactor):
                continue
            if not isinstance(factor, str):
                raise ArgumentError(
                    "Each element of ArrayMapping must be a str or CompoundFactor, but got "
                    f"{type(factor)}"
                )
            if batching_group(factor) is None:
                _check_name(factor)
            elif i:
                _refuse_ellipsis()
        return super().__new__(cls, dim_mappings)


class SdyShardingRule:
    """A rule of the factors of operands and results, for `custom_partitioning`.

    Each operand and result has an ArrayMapping, or a tuple of factors. A factor is split as it is
    in the operands, unless it is one of these, which are tuples of factors:

    - `reduction_factors` are summed over: the result is the sum over the axes that split them;
    - `need_replication_factors` are not split;
    - `permutation_factors` are split, and the devices exchange elements along them.

    `factor_sizes` are the sizes of factors that are in a CompoundFactor only.

    Raises ArgumentError (a ValueError) for a factor that the rule does not have, and for a missing
    or a needless size.

    >>> str(SdyShardingRule((ArrayMapping("i", "j"),), (ArrayMapping("i"),)))
    "SdyShardingRule((('i', 'j'),), (('i',),), {})"
    """

    __slots__ = (
        "factor_sizes",
        "need_replication_factors",
        "operand_mappings",
        "permutation_factors",
        "reduction_factors",
        "result_mappings",
    )

    def __init__(
        self,
        operand_mappings: tuple[Sequence[str | CompoundFactor], ...],
        result_mappings: tuple[Sequence[str | CompoundFactor], ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings, self.result_mappings = operand_mappings, result_mappings
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        factors = self._check_sizes()
        seen = set[str]()
        for kind in _KINDS:
            _check_special(kind, getattr(self, kind), factors, seen)

    def _check_sizes(self) -> set[str]:
        """Return all factors; raise ArgumentError unless each has its size from one place."""
        dimensions = [f for mapping in (*self.operand_mappings, *self.result_mappings)
                      for f in mapping]  # fmt: skip
        whole = {f for f in dimensions if isinstance(f, str)}
        # in the order in which they occur, in which errors name them
        factors = dict.fromkeys(f for d in dimensions for f in factors_of(d))
        for factor in self.factor_sizes:
            if factor not in factors:
                raise ArgumentError(
                    f"Factor {factor} is not used in the rule, but size is provided"
                )
        for factor in factors:
            if factor in self.factor_sizes and factor in whole:
                raise ArgumentError(
                    f"Factor {factor} represents a whole dimension; do not specify its size"
                )
            if factor not in self.factor_sizes and factor not in whole:
                raise ArgumentError(
                    f"Factor {factor} is only used in compound factors; must specify its size"
                )
        return set(factors)

    def __str__(self) -> str:
        special = [(kind, getattr(self, kind)) for kind in _KINDS]
        more = "".join(f" {kind}={factors}" for kind, factors in special if factors)
        return (
            f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, "
            f"{self.factor_sizes}{more})"
        )


_KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")


def _check_special(kind: str, factors: object, known: set[str], seen: set[str]) -> None:
    """Raise ArgumentError unless these are distinct known factors, of no other kind in `seen`."""
    if not isinstance(factors, tuple):
        raise ArgumentError(f"{kind} must be a tuple of factors")
    if len(set(factors)) < len(factors):
        raise ArgumentError(f"{kind} contains duplicated factors")
    for factor in factors:
        if factor not in known:
            raise ArgumentError(f"Factor {factor} in {kind} is not used in the rule")
        if factor in seen:
            raise ArgumentError(
                f"Factor {factor} can only be in one of the reduction, need replication, or "
                "permutation factor sets."
            )
        seen.add(factor)


def factors_of(dimension: str | CompoundFactor) -> tuple[str, ...]:
    """Return the factors of one dimension of a rule.

    >>> factors_of("i"), factors_of(CompoundFactor("i", "j"))
    (('i',), ('i', 'j'))
    """
    return (dimension,) if isinstance(dimension, str) else tuple(dimension)


def batching_group(factor: str) -> str | None:
    """Return the group of the leading dimensions that a factor is for; None for another factor.

    >>> batching_group(BATCHING), batching_group(BATCHING + "2"), batching_group("i")
    ('0', '2', None)
    """
    if not factor.startswith(BATCHING):
        return None
    group = factor[len(BATCHING) :] or "0"
    return group if group.isdigit() else None


def _check_name(factor: str) -> None:
    """Raise ArgumentError unless the factor is a letter, then letters, digits and underscores."""
    if not factor[:1].isalpha():
        raise ArgumentError(f"Factor names have to start with a letter, but got '{factor[:1]}'")
    for character in factor[1:]:
        if not _is_in_name(character):
            raise ArgumentError(f"Unknown character '{character}'")


def _is_in_name(character: str) -> bool:
    return character == "_" or character.isdigit() or character.isalpha()


def _refuse_ellipsis() -> NoReturn:
    raise ArgumentError("Ellipsis can only be used at the beginning of a dimension")


def parsed_rule(rule: str, **options: Any) -> SdyShardingRule:
    """Return the rule of a text such as `"... (i j), j k -> ... i k"`.

    Commas separate operands, and results; spaces separate dimensions. The factors of a compound
    factor are in brackets, and `...` are leading dimensions, with a number for their group.
    `options` are the keyword arguments of `SdyShardingRule`.

    Raises ArgumentError (a ValueError) for a text that is not a rule, and as `SdyShardingRule` does
    for the factors; it is a TypeError too, for another object, and for another size.

    >>> parsed_rule("i j -> i").operand_mappings
    (('i', 'j'),)
    """
    if not isinstance(rule, str):
        raise ArgumentError(f"rule must be a str, but got {type(rule)}")
    sizes = {name: size for name, size in options.items() if name not in _KINDS}
    if not all(isinstance(size, int) for size in sizes.values()):
        raise ArgumentError(f"factor_sizes must be a dict of str to int, but got {sizes}")
    if BATCHING in rule:
        raise ArgumentError(f"Unknown character '{BATCHING}'")
    text = rule.replace(_ELLIPSIS, BATCHING)
    if "." in text:
        raise ArgumentError("Character '.' must be used inside ellipsis '...'")
    sides = text.split(_ARROW)
    if len(sides) != 2:
        raise ArgumentError(f"There is no -> in rule: '{text}'")
    operands, results = map(_mappings, sides)
    return SdyShardingRule(operands, results, **options)


def _mappings(side: str) -> tuple[ArrayMapping, ...]:
    """Return the mappings of one side of a rule."""
    text = " ".join(side.split())
    mappings: list[ArrayMapping] = []
    dimensions: list[str | CompoundFactor] = []
    inside: list[str] | None = None  # the factors since an opening bracket
    for token in _tokens(text):
        if token == ",":
            mappings.append(ArrayMapping(*dimensions))
            dimensions = []
        elif token == "(":
            if inside is not None:
                raise ArgumentError(
                    "Compound factors should be one level, nested brackets are not allowed"
                )
            inside = []
        elif token == ")":
            if inside is None:
                raise ArgumentError("Brackets are not balanced")
            if len(inside) < 2:
                raise ArgumentError("Brackets should contain at least two factors")
            dimensions.append(CompoundFactor(*inside))
            inside = None
        elif token.startswith(BATCHING):
            if inside is not None or dimensions:
                _refuse_ellipsis()
            dimensions.append(token)
        else:
            (dimensions if inside is None else inside).append(token)
    if inside is not None:
        raise ArgumentError(f"Brackets are not balanced in rule: '{text}'")
    return (*mappings, ArrayMapping(*dimensions))


def _tokens(text: str) -> Iterator[str]:
    """Yield the brackets, the commas and the factors of one side of a rule.

    Leading dimensions have the number of their group, without leading zeros.
    """
    place = 0
    while place < len(text):
        character, begin = text[place], place
        place += 1
        if character == BATCHING:
            while text[place : place + 1].isdigit():
                place += 1
            number = text[begin + 1 : place].lstrip("0")
            yield f"{BATCHING}{number or 0}"
        elif _is_in_name(character):
            while place < len(text) and _is_in_name(text[place]):
                place += 1
            _check_name(text[begin:place])
            yield text[begin:place]
        elif character in "(),":
            yield character
        elif character != " ":
            raise ArgumentError(f"Unknown character '{character}'")
