"""Comparison of programs: each change is reported once, with the lines of both sides."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy
import pytest

import olympus
import olympus.numpy as np
from olympus import lax
from olympus.analysis import (
    Change,
    Difference,
    Graph,
    compare,
    graph_of,
    read_module,
    structural_fingerprint,
)
from olympus.errors import ArtifactError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.analysis.diff.alignment import common, rising
from tests.blocks import networks

X = np.ones((3, 2))


def graph(fun: Any, *args: Any, **options: Any) -> Graph:
    return graph_of(olympus.jit(fun, **options).trace(*args).lower(repeats="off").module)


def difference(first: Any, second: Any, *args: Any) -> Difference:
    return compare(graph(first, *(args or (X,))), graph(second, *(args or (X,))))


def changed_names(result: Difference) -> list[tuple[str, str, str]]:
    """Return the kind of each change, and the names of the operation before and after."""
    return [
        (
            change.kind,
            change.before.name if change.before else "",
            change.after.name if change.after else "",
        )
        for change in result.changes
    ]


def details(change: Change) -> list[tuple[str, str | None, str | None]]:
    return [(detail.what, detail.before, detail.after) for detail in change.details]


def base(x: Any) -> Any:
    y = np.tanh(x)
    return np.sin(y * 2.0) + x


def test_a_program_does_not_differ_from_itself() -> None:
    def renamed(first: Any) -> Any:
        # moved, and with another name
        second = np.tanh(first)
        return np.sin(second * 2.0) + first

    result = difference(base, renamed)
    assert not result
    assert result.changes == ()
    assert result.fingerprints[0] == result.fingerprints[1]
    assert result.sizes == (4, 4)


def test_tanh_changed_to_sin_is_one_operation_with_both_lines() -> None:
    def changed(x: Any) -> Any:
        y = np.sin(x)
        return np.sin(y * 2.0) + x

    (change,) = difference(base, changed).changes
    assert (change.role, change.kind, change.where) == ("operation", "changed", "main")
    assert details(change) == [("operation", "stablehlo.tanh", "stablehlo.sine")]
    assert change.before and change.after
    first = base.__code__.co_firstlineno + 1
    assert change.before.place[:2] == (__file__, first)
    assert change.after.place[:2] == (__file__, changed.__code__.co_firstlineno + 1)


ONE_CHANGE: dict[str, tuple[Any, tuple[str, str, str]]] = {
    "inserted": (
        lambda x: np.sin(np.exp(np.tanh(x)) * 2.0) + x,
        ("added", "", "stablehlo.exponential"),
    ),
    "inserted first": (
        lambda x: (lambda z: np.sin(np.tanh(z) * 2.0) + z)(np.exp(x)),
        ("added", "", "stablehlo.exponential"),
    ),
    "inserted last": (
        lambda x: np.exp(np.sin(np.tanh(x) * 2.0) + x),
        ("added", "", "stablehlo.exponential"),
    ),
    "left out": (lambda x: np.sin(x * 2.0) + x, ("removed", "stablehlo.tanh", "")),
    "operation": (
        lambda x: np.sin(np.tanh(x) * 2.0) - x,
        ("changed", "stablehlo.add", "stablehlo.subtract"),
    ),
    "constant": (
        lambda x: np.sin(np.tanh(x) * 3.0) + x,
        ("changed", "stablehlo.multiply", "stablehlo.multiply"),
    ),
    "rewired": (
        lambda x: (lambda y: np.sin(y * 2.0) + y)(np.tanh(x)),
        ("changed", "stablehlo.add", "stablehlo.add"),
    ),
}


@pytest.mark.parametrize("name", ONE_CHANGE)
def test_one_change_is_reported_once(name: str) -> None:
    changed, expected = ONE_CHANGE[name]
    assert changed_names(difference(base, changed)) == [expected]
    kinds = {"added": "removed", "removed": "added"}
    back = (kinds.get(expected[0], expected[0]), expected[2], expected[1])
    assert changed_names(difference(changed, base)) == [back]


def test_a_changed_constant_is_reported_as_an_operand_of_its_reader() -> None:
    (change,) = difference(base, ONE_CHANGE["constant"][0]).changes
    ((name, before, after),) = details(change)
    assert name == "operand 1"
    assert before == "constant 2.000000e+00 : tensor<3x2xf32>"
    assert after == "constant 3.000000e+00 : tensor<3x2xf32>"


def test_a_large_constant_is_shown_by_its_first_elements() -> None:
    first = numpy.arange(5000, dtype=numpy.float32)
    second = first + 1
    (change,) = difference(lambda x: x + first, lambda x: x + second, np.ones(5000)).changes
    ((name, before, after),) = details(change)
    assert name == "operand 1" and before != after
    assert before and len(before) < 100


def test_a_changed_attribute_is_reported_by_its_name() -> None:
    (change,) = difference(
        lambda x: lax.reduce_precision(x, 5, 2), lambda x: lax.reduce_precision(x, 5, 7)
    ).changes
    assert details(change) == [("mantissa_bits", "2 : i32", "7 : i32")]


def test_swapped_operands_are_both_reported() -> None:
    (change,) = difference(lambda x, y: x - y, lambda x, y: y - x, X, X).changes
    assert details(change) == [
        ("operand 0", "argument 0", "argument 1"),
        ("operand 1", "argument 1", "argument 0"),
    ]


def test_swapped_results_are_changes_of_the_return() -> None:
    def of(swapped: bool) -> Any:
        return lambda x: (np.sin(x), np.cos(x))[:: -1 if swapped else 1]

    (change,) = difference(of(False), of(True)).changes
    assert change.before and change.before.name == "return"
    assert [detail.what for detail in change.details] == ["result 0", "result 1"]


def test_arguments_are_reported_by_name() -> None:
    first = graph(lambda a, b: np.sin(a) + b, X, X)
    second = graph(lambda c, a, b: np.sin(a) + b + c[0], np.ones(2), X, np.ones((3, 2)))
    result = compare(first, second, (["a", "b"], ["c", "a", "b"]))
    arguments = [change for change in result.changes if change.role == "argument"]
    assert [(change.kind, change.after.name) for change in arguments if change.after] == [
        ("added", "c")
    ]
    renamed = compare(first, first, (["a", "b"], ["a", "z"]))
    (change,) = renamed.changes
    assert details(change) == [("name", "b", "z")]
    swapped = graph(lambda b, a: np.sin(a) + b, X, X)
    moved = compare(first, swapped, (["a", "b"], ["b", "a"]))
    assert {change.kind for change in moved.changes} == {"changed"}
    assert {change.role for change in moved.changes} == {"argument"}
    assert [detail.what for change in moved.changes for detail in change.details] == [
        "position"
    ] * 2


def test_donation_is_a_change_of_the_argument() -> None:
    (change,) = compare(graph(np.tanh, X), graph(np.tanh, X, donate_argnums=0)).changes
    assert (change.role, details(change)) == ("argument", [("donated", "no", "to result 0")])


def test_results_are_reported_by_their_paths() -> None:
    result = difference(lambda x: {"a": x + 1}, lambda x: {"a": x + 1, "b": np.sin(x)})
    assert changed_names(result) == [("added", "", "result['b']"), ("added", "", "stablehlo.sine")]


def test_results_with_one_name_are_compared_in_order() -> None:
    text = """func.func @main(%x: tensor<f32>) -> (tensor<f32> {{jax.result_info = "a"}},
                                           tensor<f32> {{jax.result_info = "{}"}}) {{
      %0 = stablehlo.sine %x : tensor<f32>
      return %x, %0 : tensor<f32>, tensor<f32>
    }}"""
    first, second = (text_graph(text.format(name)) for name in ("a", "b"))
    (change,) = compare(first, second).changes
    assert details(change) == [("name", "a", "b")]
    assert not compare(first, text_graph(text.format("a")))
    shorter = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    assert changed_names(compare(first, text_graph(shorter))) == [
        ("removed", "a", ""),
        ("removed", "stablehlo.sine", ""),
    ]


def test_operations_with_only_other_shapes_are_retyped() -> None:
    result = compare(graph(base, X), graph(base, np.ones((5, 2))))
    kinds = Counter((change.role, change.kind) for change in result.changes)
    assert kinds == {
        ("argument", "changed"): 1,
        ("result", "changed"): 1,
        ("operation", "retyped"): 4,
    }


def loop(body: Any, before: Any = lambda x: x) -> Any:
    def f(x: Any) -> Any:
        start = before(x)
        return lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, body(s[1]) + x), (0, start))

    return f


def test_a_change_in_a_loop_is_reported_once_with_the_loop() -> None:
    (change,) = difference(loop(np.sin), loop(np.tanh)).changes
    line = loop.__code__.co_firstlineno + 3
    assert change.where == f"main > while at {__file__}:{line}, body"
    assert details(change) == [("operation", "stablehlo.sine", "stablehlo.tanh")]


def test_a_change_before_a_loop_does_not_change_the_loop() -> None:
    result = difference(loop(np.sin), loop(np.sin, np.exp))
    assert changed_names(result) == [("added", "", "stablehlo.exponential")]


def test_a_loop_reports_a_changed_captured_value() -> None:
    def looped(index: int) -> Any:
        def f(x: Any) -> Any:
            seen = (np.sin(x), np.cos(x))
            body = lambda s: (s[0] + 1, s[1] + seen[index])  # noqa: E731
            return lax.while_loop(lambda s: s[0] < 9, body, (0, x)), seen

        return f

    (change,) = difference(looped(0), looped(1)).changes
    assert [detail.what for detail in change.details] == ["captured value 0"]


BLOCKS = """
func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = call @block(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = call @block(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = call @block(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}}
func.func private @block(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.{op} %x : tensor<2xf32>
  %1 = stablehlo.exponential %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}}
"""


def text_graph(text: str) -> Graph:
    return graph_of(read_module(text))


def test_a_change_in_a_function_is_reported_once_for_all_calls() -> None:
    first, second = (text_graph(BLOCKS.format(op=op)) for op in ("tanh", "sine"))
    (change,) = compare(first, second).changes
    assert change.where == "block (called 3 times, first at -:3)"
    assert details(change) == [("operation", "stablehlo.tanh", "stablehlo.sine")]


def test_a_function_that_was_split_is_compared_with_its_copies() -> None:
    """Each new function is compared with the function that it replaces."""
    first = BLOCKS.format(op="tanh")
    block = first[first.index("func.func private") :]
    second = first.replace("call @block(%0)", "call @b(%0)").replace(
        "call @block(%1)", "call @c(%1)"
    )
    for name, op in (("b", "sine"), ("c", "cosine")):
        second += block.replace("@block", f"@{name}").replace("tanh", op)
    result = compare(text_graph(first), text_graph(second))
    assert changed_names(result) == [
        ("changed", "stablehlo.tanh", "stablehlo.sine"),
        ("changed", "stablehlo.tanh", "stablehlo.cosine"),
    ]
    assert {change.where for change in result.changes} == {
        "block (called once, first at -:4)",
        "block (called once, first at -:5)",
    }


def test_a_change_in_a_repeated_block_of_a_traced_program_is_reported_once() -> None:
    def network(op: Any) -> Any:
        def f(ps: Any, x: Any) -> Any:
            for p in ps:
                x = op(networks.layer(p, x))
            return x

        return f

    def lowered(op: Any) -> Any:
        return olympus.jit(network(op)).trace(networks.params(8), networks.X).lower()

    first, second = lowered(np.tanh), lowered(np.arctan)
    assert first.blocks, "the block is not outlined, so this tests nothing"
    result = compare(graph_of(first.module), graph_of(second.module))
    assert [details(change)[0][1:] for change in result.changes] == [
        ("stablehlo.tanh", "chlo.atan")
    ]
    assert re.search(r"\(called [678] times, first at ", result.changes[0].where)


def test_a_call_does_not_match_another_operation() -> None:
    """A call that is inlined is one removed operation, and its body is added."""
    body = "%0 = stablehlo.tanh %arg0 : tensor<3xf32>"
    function = (
        f"func.func private @layer(%arg0: tensor<3xf32>) -> tensor<3xf32> {{ {body} {{end}} }}"
    )
    main = "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {{ {} {{end}} }}"
    call = main.format("%0 = call @layer(%arg0) : (tensor<3xf32>) -> tensor<3xf32>")
    texts = [call + function, main.format(body)]
    called, inlined = (text_graph(x.replace("{end}", "return %0 : tensor<3xf32>")) for x in texts)
    assert changed_names(compare(called, inlined)) == [
        ("removed", "func.call @layer", ""),
        ("added", "", "stablehlo.tanh"),
    ]


def test_the_number_of_replicas_is_a_change_of_the_program() -> None:
    text = "module attributes {{mhlo.num_replicas = {} : i32}} {{ {} }}"
    body = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    (change,) = compare(*(text_graph(text.format(n, body)) for n in (1, 2))).changes
    assert (change.role, details(change)) == (
        "program",
        [("mhlo.num_replicas", "1 : i32", "2 : i32")],
    )


def test_exchanged_equal_operations_differ_as_their_fingerprints_do() -> None:
    """The programs differ only in the equal operation that they read."""
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.sine %x : tensor<f32>
      %1 = stablehlo.sine %x : tensor<f32>
      %2 = stablehlo.add %0, %{} : tensor<f32>
      return %2 : tensor<f32>
    }}"""
    first, second = (text_graph(text.format(n)) for n in (0, 1))
    assert bool(compare(first, second)) == (
        structural_fingerprint(first) != structural_fingerprint(second)
    )


@pytest.mark.night
def test_a_large_program_is_compared_by_structure() -> None:
    """30,000 operations, with changes a hundred operations apart."""

    def deep(every: int | None) -> Any:
        def f(x: Any) -> Any:
            for i in range(7500):
                x = np.tanh(x) * (i % 7 + 0.5)
                x = x + np.sin(x)
                if every and i % every == 3:
                    x = np.exp(x)
            return x

        return f

    program = graph(deep(None), np.ones(3))
    assert program.size() == 30_000
    result = compare(program, graph(deep(250), np.ones(3)))
    assert changed_names(result) == [("added", "", "stablehlo.exponential")] * 30


def test_programs_without_a_common_operation_are_compared() -> None:
    def repeated(op: Any) -> Any:
        def f(x: Any) -> Any:
            for _ in range(1000):
                x = op(x)
            return x

        return f

    result = compare(graph(repeated(np.sin), X), text_graph(BLOCKS.format(op="tanh")))
    kinds = Counter((change.role, change.kind) for change in result.changes)
    assert kinds["operation", "removed"] >= 997


UNARY = (np.tanh, np.sin, np.cos, np.exp, np.abs, np.floor)
BINARY = (np.add, np.subtract, np.multiply, np.maximum)
Step = tuple[int, int, int, int]  # operation, first operand, second operand or -1, constant


def random_steps(random_: random.Random) -> list[Step]:
    steps = []
    for i in range(random_.randrange(3, 40)):
        first, second = (random_.randrange(max(0, i - 5), i + 2) for _ in "ab")
        steps.append(
            (random_.randrange(24), first, second if random_.random() < 0.5 else -1, i % 5 + 1)
        )
    return steps


def running(steps: Sequence[Step]) -> Any:
    def f(x: Any, y: Any) -> Any:
        values, used = [x, y], set[int]()
        for op, first, second, constant in steps:
            used |= {first, second}
            if second < 0 and op % 2:
                values.append(UNARY[op % len(UNARY)](values[first]))
            else:
                operand = values[second] if second >= 0 else constant + 0.5
                values.append(BINARY[op % len(BINARY)](values[first], operand))
        return [value for i, value in enumerate(values) if i not in used]

    return f


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_differ_if_their_fingerprints_do(seed: int) -> None:
    """Equal programs have no change, and different ones have at least one, in both directions."""
    random_ = random.Random(seed)
    steps = random_steps(random_)
    changed = list(steps)
    at = random_.randrange(len(steps))
    op, first_operand, second_operand, constant = changed[at]
    if seed % 3 == 0:
        changed[at] = (op + 2, first_operand, second_operand, constant)
    elif seed % 3 == 1:
        changed[at] = (op, random_.randrange(at + 2), second_operand, constant)
    else:
        del changed[at:]
    args = np.ones(3), np.ones(3)
    first, second = graph(running(steps), *args), graph(running(changed), *args)
    same = structural_fingerprint(first) == structural_fingerprint(second)
    assert bool(compare(first, second)) == bool(compare(second, first)) == (not same)
    assert not compare(first, graph(running(steps), *args))


def test_a_recursive_function_is_refused() -> None:
    looped = "func.func @main() { call @main() : () -> () return }"
    with pytest.raises(ArtifactError, match="calls itself"):
        compare(text_graph(looped), text_graph(looped))


def test_a_chain_of_calls_that_is_too_deep_is_refused() -> None:
    functions = [
        f"func.func private @f{i}() {{ call @f{i + 1}() : () -> () return }}" for i in range(5000)
    ]
    ends = (
        "func.func @main() { call @f0() : () -> () return }",
        "func.func private @f5000() { return }",
    )
    text = "\n".join([ends[0], *functions, ends[1]])
    with pytest.raises(ArtifactError, match="nested too deeply"):
        compare(text_graph(text), text_graph(text))


def test_common_subsequences_are_the_longest() -> None:
    random_ = random.Random(0)
    for _ in range(200):
        first, second = ("".join(random_.choices("abcd", k=random_.randrange(12))) for _ in "ab")
        result = common(first, second)
        assert all(first[i] == second[j] for i, j in result)
        assert result == rising(result)
        assert len(result) == longest(first, second)


def longest(first: str, second: str) -> int:
    if not first or not second:
        return 0
    row = [0] * (len(second) + 1)
    for a in first:
        above = row[:]
        for j, b in enumerate(second):
            row[j + 1] = above[j] + 1 if a == b else max(row[j], above[j + 1])
    return row[-1]


def test_long_sequences_of_one_key_are_aligned() -> None:
    result = common(["x", *"a" * 2000, "y"], ["z", *"a" * 1999, "b", "y"])
    assert len(result) == 2000


def sharded(sizes: tuple[int, int] = (4, 2), axis: str = "x", pinned: str = "y") -> Graph:
    mesh = AbstractMesh(sizes, ("x", "y"))

    def program(x: Any) -> Any:
        return lax.with_sharding_constraint(np.tanh(x), NamedSharding(mesh, PartitionSpec(pinned)))

    argument_sharding = NamedSharding(mesh, PartitionSpec(axis))
    shape = olympus.ShapeDtypeStruct((8, 8), "float32")
    return graph_of(
        olympus.jit(program, in_shardings=(argument_sharding,)).trace(shape).lower().module
    )


@pytest.mark.parametrize(
    ("options", "role", "detail_name"),
    [
        ({"sizes": (2, 4)}, "program", "sdy.mesh @mesh"),
        ({"axis": "y"}, "argument", "sdy.sharding"),
        ({"pinned": "x"}, "operation", "sharding"),
    ],
)
def test_meshes_and_shardings_are_compared(
    options: dict[str, Any], role: str, detail_name: str
) -> None:
    assert not compare(sharded(), sharded())
    result = compare(sharded(), sharded(**options))
    (change,) = result.changes
    assert (change.role, [detail.what for detail in change.details]) == (role, [detail_name])
    assert result.fingerprints[0] != result.fingerprints[1]
