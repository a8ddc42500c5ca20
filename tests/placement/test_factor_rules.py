"""Sharding rules by factors have the texts and the errors of JAX."""

from __future__ import annotations

from typing import Any

import jax.experimental.custom_partitioning
import pytest

import olympus.experimental.custom_partitioning
from olympus_core.placement.factor_rules import parsed_rule

OURS, ORACLE = olympus.experimental.custom_partitioning, jax.experimental.custom_partitioning

#: rules as texts, whose factors are whole dimensions
TEXTS = [
    *["i j -> i j", "i, j", "->", "-> i", "i ->", "... i -> ... i", "...01 i -> ...1 i"],
    *["i -> i -> i", "...1x -> x", "...1 i, ...2 j -> ...1 ...2"],
    *[ "i ... -> i", "(i j) k -> i k", "(i j) -> i j", "(i) -> i"],
    *["((i j) k) -> i", "(i j -> i j", "i) -> i", "i . j -> i", "i .. -> i", "… i -> i", "1i -> i"],
    *["_i -> i", "i_1 -> i_1", "i$ -> i", "  i   j  ->i j", "i,j,->i", "(i ...) -> i", "i-> (i j)"],
    *["a b,  c->a,b c", "I2 ->I2", "é -> é", "... -> ...", "...(i j) -> i j", "i->i..."],
    *["(i j)k -> i j k", "(i j)(k l) -> i j k l", "i(j k) -> i j k", "(i ,j) -> i j", "() -> "],
]  # fmt: skip
#: the keyword arguments of a rule
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("i j -> i j", {"reduction_factors": ("i",)}),
    ("i j -> i j", {"reduction_factors": ["i"]}),
    ("i j -> i j", {"reduction_factors": ("i", "i")}),
    ("i j -> i j", {"reduction_factors": ("k",)}),
    ("i j -> i j", {"need_replication_factors": ("i",), "permutation_factors": ("i",)}),
    ("i j -> i j", {"permutation_factors": ("j",), "reduction_factors": ("i",)}),
    *[("i j -> i j", {name: 3}) for name in ("i", "k")],
    ("i j -> i j", {"k": "3"}),
    *[("(i j) -> i", {name: 2}) for name in ("i", "j")],
    ("(i j) -> (i j)", {"i": 4, "j": 2}),
    ("(i j) -> (i j)", {"j": 2}),
    ("... -> ...", {"reduction_factors": ("...",)}),
    (3, {}),  # type: ignore[list-item]
    (None, {"i": 3}),  # type: ignore[list-item]
    (None, {"permutation_factors": ("i",)}),  # type: ignore[list-item]
]
#: objects as expressions of `C`, a CompoundFactor, `A`, an ArrayMapping, and `R`, a rule
OBJECTS = [
    *["B", "C('i')", "C('i', 'j')", "C('i', 3)", "C('i', B)", "C('i', '1a')", "C('i', 'a-')"],
    *["C()", "A('i')", "A()", "A(3)", "A('i', B)", "A(B, 'i')", "A(B + '1', 'i')", "A('1')"],
    *["A(B + 'x', 'i')", "A('a b')", "A(C('i', 'j'), 'k')", "A(('i', 'j'))", "repr(C('i', 'j'))"],
    *["R((A('i'),), (A('i'),))", "R((A('i'),), (A('i'),), i=3)", "R((A('i'),), (A('i'),), k=3)"],
    *["R((A(C('i', 'j')),), (A('i'),))", "R((A(C('i', 'j')),), (A('i'),), j=2)"],
    *["R((A('i'),), (A('i'),), reduction_factors=('i',))", "R((('i',),), (('i',),))"],
    *["R((A('i'),), (A('i'),)).operand_mappings", "R((A('i'),), (A('i'),)).factor_sizes"],
    *["type(C('i', 'j') + ('k',)).__name__", "C('i', 'j') == ('i', 'j')"],
    "R((A('i'),), (A('i'),)) == R((A('i'),), (A('i'),))",
]


def of_text(m: Any, rule: Any, options: dict[str, Any]) -> str:
    f = m.custom_partitioning(lambda x: x)
    try:
        f.def_partition(None, sharding_rule=rule, **options)
    except (ValueError, TypeError) as error:
        return str(error)
    return str(f.sharding_rule)


def of_object(m: Any, expression: str) -> str:
    names = {"B": m.BATCHING, "C": m.CompoundFactor, "A": m.ArrayMapping, "R": m.SdyShardingRule}
    try:
        return str(eval(expression, names))
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(("rule", "options"), [*[(text, {}) for text in TEXTS], *OPTIONS])
def test_rules_of_texts_are_those_of_jax(rule: Any, options: dict[str, Any]) -> None:
    assert of_text(OURS, rule, options) == of_text(ORACLE, rule, options)


@pytest.mark.parametrize("expression", OBJECTS)
def test_objects_of_rules_are_those_of_jax(expression: str) -> None:
    assert of_object(OURS, expression) == of_object(ORACLE, expression)


def test_the_numbers_of_ellipses_are_not_limited() -> None:
    """JAX raises an error of `int` for these."""
    for number in ("²", "9" * 5000):
        rule = parsed_rule(f"...{number} i -> ...{number} i")
        assert rule.operand_mappings == ((f"{OURS.BATCHING}{number}", "i"),)
