"""Programs compared: each change told once, with the lines of both sides, and nothing else."""

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


def difference(one: Any, other: Any, *args: Any) -> Difference:
    return compare(graph(one, *(args or (X,))), graph(other, *(args or (X,))))


def told(found: Difference) -> list[tuple[str, str, str]]:
    """Each change's kind, and the names of the operation before and after."""
    return [
        (each.kind, each.before.name if each.before else "", each.after.name if each.after else "")
        for each in found.changes
    ]


def details(change: Change) -> list[tuple[str, str | None, str | None]]:
    return [(each.what, each.before, each.after) for each in change.details]


def base(x: Any) -> Any:
    y = np.tanh(x)
    return np.sin(y * 2.0) + x


def test_a_program_does_not_differ_from_itself() -> None:
    def renamed(first: Any) -> Any:
        # moved, and with another name
        second = np.tanh(first)
        return np.sin(second * 2.0) + first

    found = difference(base, renamed)
    assert not found
    assert found.changes == ()
    assert found.fingerprints[0] == found.fingerprints[1]
    assert found.sizes == (4, 4)


def test_tanh_changed_to_sin_is_one_operation_with_both_lines() -> None:
    def other(x: Any) -> Any:
        y = np.sin(x)
        return np.sin(y * 2.0) + x

    (change,) = difference(base, other).changes
    assert (change.role, change.kind, change.where) == ("operation", "changed", "main")
    assert details(change) == [("operation", "stablehlo.tanh", "stablehlo.sine")]
    assert change.before and change.after
    first = base.__code__.co_firstlineno + 1
    assert change.before.place[:2] == (__file__, first)
    assert change.after.place[:2] == (__file__, other.__code__.co_firstlineno + 1)


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
def test_one_change_is_told_once(name: str) -> None:
    other, want = ONE_CHANGE[name]
    assert told(difference(base, other)) == [want]
    kinds = {"added": "removed", "removed": "added"}
    back = (kinds.get(want[0], want[0]), want[2], want[1])
    assert told(difference(other, base)) == [back]


def test_a_constant_is_told_where_it_is_read() -> None:
    (change,) = difference(base, ONE_CHANGE["constant"][0]).changes
    ((what, before, after),) = details(change)
    assert what == "operand 1"
    assert before == "constant 2.000000e+00 : tensor<3x2xf32>"
    assert after == "constant 3.000000e+00 : tensor<3x2xf32>"


def test_a_large_constant_is_told_by_its_first_elements() -> None:
    one = numpy.arange(5000, dtype=numpy.float32)
    two = one + 1
    (change,) = difference(lambda x: x + one, lambda x: x + two, np.ones(5000)).changes
    ((what, before, after),) = details(change)
    assert what == "operand 1" and before != after
    assert before and len(before) < 100


def test_an_attribute() -> None:
    (change,) = difference(
        lambda x: lax.reduce_precision(x, 5, 2), lambda x: lax.reduce_precision(x, 5, 7)
    ).changes
    assert details(change) == [("mantissa_bits", "2 : i32", "7 : i32")]


def test_operands_that_change_places() -> None:
    (change,) = difference(lambda x, y: x - y, lambda x, y: y - x, X, X).changes
    assert details(change) == [
        ("operand 0", "argument 0", "argument 1"),
        ("operand 1", "argument 1", "argument 0"),
    ]


def test_a_result_that_is_another_value() -> None:
    def of(swapped: bool) -> Any:
        return lambda x: (np.sin(x), np.cos(x))[:: -1 if swapped else 1]

    (change,) = difference(of(False), of(True)).changes
    assert change.before and change.before.name == "return"
    assert [each.what for each in change.details] == ["result 0", "result 1"]


def test_arguments_are_told_by_name() -> None:
    one = graph(lambda a, b: np.sin(a) + b, X, X)
    two = graph(lambda c, a, b: np.sin(a) + b + c[0], np.ones(2), X, np.ones((3, 2)))
    found = compare(one, two, (["a", "b"], ["c", "a", "b"]))
    arguments = [each for each in found.changes if each.role == "argument"]
    assert [(each.kind, each.after.name) for each in arguments if each.after] == [("added", "c")]
    renamed = compare(one, one, (["a", "b"], ["a", "z"]))
    (change,) = renamed.changes
    assert details(change) == [("name", "b", "z")]
    swapped = graph(lambda b, a: np.sin(a) + b, X, X)
    moved = compare(one, swapped, (["a", "b"], ["b", "a"]))
    assert {each.kind for each in moved.changes} == {"changed"}
    assert {each.role for each in moved.changes} == {"argument"}
    assert [detail.what for each in moved.changes for detail in each.details] == ["position"] * 2


def test_donation_is_told_of_the_argument() -> None:
    (change,) = compare(graph(np.tanh, X), graph(np.tanh, X, donate_argnums=0)).changes
    assert (change.role, details(change)) == ("argument", [("donated", "no", "to result 0")])


def test_results_are_told_by_their_paths() -> None:
    found = difference(lambda x: {"a": x + 1}, lambda x: {"a": x + 1, "b": np.sin(x)})
    assert told(found) == [("added", "", "result['b']"), ("added", "", "stablehlo.sine")]


def test_names_of_results_that_occur_twice() -> None:
    text = """func.func @main(%x: tensor<f32>) -> (tensor<f32> {{jax.result_info = "a"}},
                                           tensor<f32> {{jax.result_info = "{}"}}) {{
      %0 = stablehlo.sine %x : tensor<f32>
      return %x, %0 : tensor<f32>, tensor<f32>
    }}"""
    one, two = (text_graph(text.format(name)) for name in ("a", "b"))
    (change,) = compare(one, two).changes
    assert details(change) == [("name", "a", "b")]
    assert not compare(one, text_graph(text.format("a")))
    more = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    assert told(compare(one, text_graph(more))) == [
        ("removed", "a", ""),
        ("removed", "stablehlo.sine", ""),
    ]


def test_other_shapes_follow_from_those_of_the_arguments() -> None:
    found = compare(graph(base, X), graph(base, np.ones((5, 2))))
    kinds = Counter((each.role, each.kind) for each in found.changes)
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


def test_a_change_in_a_loop_is_told_once_with_the_loop() -> None:
    (change,) = difference(loop(np.sin), loop(np.tanh)).changes
    line = loop.__code__.co_firstlineno + 3
    assert change.where == f"main > while at {__file__}:{line}, body"
    assert details(change) == [("operation", "stablehlo.sine", "stablehlo.tanh")]


def test_a_change_before_a_loop_is_no_change_of_the_loop() -> None:
    found = difference(loop(np.sin), loop(np.sin, np.exp))
    assert told(found) == [("added", "", "stablehlo.exponential")]


def test_a_loop_that_captures_another_value() -> None:
    def of(which: int) -> Any:
        def f(x: Any) -> Any:
            seen = (np.sin(x), np.cos(x))
            body = lambda s: (s[0] + 1, s[1] + seen[which])  # noqa: E731
            return lax.while_loop(lambda s: s[0] < 9, body, (0, x)), seen

        return f

    (change,) = difference(of(0), of(1)).changes
    assert [each.what for each in change.details] == ["captured value 0"]


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


def test_a_change_in_a_function_is_told_once_however_often_it_is_called() -> None:
    one, two = (text_graph(BLOCKS.format(op=op)) for op in ("tanh", "sine"))
    (change,) = compare(one, two).changes
    assert change.where == "block (called 3 times, first at -:3)"
    assert details(change) == [("operation", "stablehlo.tanh", "stablehlo.sine")]


def test_a_function_that_became_two() -> None:
    """Each is compared with the one it was, and with no other."""
    one = BLOCKS.format(op="tanh")
    block = one[one.index("func.func private") :]
    two = one.replace("call @block(%0)", "call @b(%0)").replace("call @block(%1)", "call @c(%1)")
    for name, op in (("b", "sine"), ("c", "cosine")):
        two += block.replace("@block", f"@{name}").replace("tanh", op)
    found = compare(text_graph(one), text_graph(two))
    assert told(found) == [
        ("changed", "stablehlo.tanh", "stablehlo.sine"),
        ("changed", "stablehlo.tanh", "stablehlo.cosine"),
    ]
    assert {each.where for each in found.changes} == {
        "block (called once, first at -:4)",
        "block (called once, first at -:5)",
    }


def test_a_repeated_block_of_a_traced_program() -> None:
    def network(op: Any) -> Any:
        def f(ps: Any, x: Any) -> Any:
            for p in ps:
                x = op(networks.layer(p, x))
            return x

        return f

    def lowered(op: Any) -> Any:
        return olympus.jit(network(op)).trace(networks.params(8), networks.X).lower()

    one, two = lowered(np.tanh), lowered(np.arctan)
    assert one.blocks, "the block is not kept, so this tests nothing"
    found = compare(graph_of(one.module), graph_of(two.module))
    assert [details(each)[0][1:] for each in found.changes] == [("stablehlo.tanh", "chlo.atan")]
    assert re.search(r"\(called [678] times, first at ", found.changes[0].where)


def test_a_call_is_no_other_operation() -> None:
    """What a program computes itself takes the place of a call, and none of it is the call."""
    body = "%0 = stablehlo.tanh %arg0 : tensor<3xf32>"
    function = (
        f"func.func private @layer(%arg0: tensor<3xf32>) -> tensor<3xf32> {{ {body} {{end}} }}"
    )
    main = "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {{ {} {{end}} }}"
    call = main.format("%0 = call @layer(%arg0) : (tensor<3xf32>) -> tensor<3xf32>")
    texts = [call + function, main.format(body)]
    one, other = (text_graph(x.replace("{end}", "return %0 : tensor<3xf32>")) for x in texts)
    assert told(compare(one, other)) == [
        ("removed", "func.call @layer", ""),
        ("added", "", "stablehlo.tanh"),
    ]


def test_the_number_of_replicas_is_of_the_program() -> None:
    text = "module attributes {{mhlo.num_replicas = {} : i32}} {{ {} }}"
    body = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    (change,) = compare(*(text_graph(text.format(n, body)) for n in (1, 2))).changes
    assert (change.role, details(change)) == (
        "program",
        [("mhlo.num_replicas", "1 : i32", "2 : i32")],
    )


def test_equal_operations_that_are_read_in_other_places() -> None:
    """Nothing but which of two equal operations is read, which is a difference still."""
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %0 = stablehlo.sine %x : tensor<f32>
      %1 = stablehlo.sine %x : tensor<f32>
      %2 = stablehlo.add %0, %{} : tensor<f32>
      return %2 : tensor<f32>
    }}"""
    one, two = (text_graph(text.format(n)) for n in (0, 1))
    assert bool(compare(one, two)) == (structural_fingerprint(one) != structural_fingerprint(two))


def test_a_large_program_is_compared_by_structure_and_not_by_text() -> None:
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

    one = graph(deep(None), np.ones(3))
    assert one.size() == 30_000
    found = compare(one, graph(deep(250), np.ones(3)))
    assert told(found) == [("added", "", "stablehlo.exponential")] * 30


def test_programs_with_nothing_in_common() -> None:
    def of(op: Any) -> Any:
        def f(x: Any) -> Any:
            for _ in range(1000):
                x = op(x)
            return x

        return f

    found = compare(graph(of(np.sin), X), text_graph(BLOCKS.format(op="tanh")))
    kinds = Counter((each.role, each.kind) for each in found.changes)
    assert kinds["operation", "removed"] >= 997


UNARY = (np.tanh, np.sin, np.cos, np.exp, np.abs, np.floor)
BINARY = (np.add, np.subtract, np.multiply, np.maximum)
Step = tuple[int, int, int, int]  # operation, first operand, second operand or -1, constant


def random_steps(random_: random.Random) -> list[Step]:
    steps = []
    for i in range(random_.randrange(3, 40)):
        one, two = (random_.randrange(max(0, i - 5), i + 2) for _ in "ab")
        steps.append((random_.randrange(24), one, two if random_.random() < 0.5 else -1, i % 5 + 1))
    return steps


def running(steps: Sequence[Step]) -> Any:
    def f(x: Any, y: Any) -> Any:
        values, used = [x, y], set[int]()
        for op, one, two, constant in steps:
            used |= {one, two}
            if two < 0 and op % 2:
                values.append(UNARY[op % len(UNARY)](values[one]))
            else:
                other = values[two] if two >= 0 else constant + 0.5
                values.append(BINARY[op % len(BINARY)](values[one], other))
        return [value for i, value in enumerate(values) if i not in used]

    return f


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """No change is told of equal programs, and one at least of others; both ways."""
    random_ = random.Random(seed)
    steps = random_steps(random_)
    changed = list(steps)
    at = random_.randrange(len(steps))
    op, one, two, constant = changed[at]
    if seed % 3 == 0:
        changed[at] = (op + 2, one, two, constant)
    elif seed % 3 == 1:
        changed[at] = (op, random_.randrange(at + 2), two, constant)
    else:
        del changed[at:]
    args = np.ones(3), np.ones(3)
    first, second = graph(running(steps), *args), graph(running(changed), *args)
    same = structural_fingerprint(first) == structural_fingerprint(second)
    assert bool(compare(first, second)) == bool(compare(second, first)) == (not same)
    assert not compare(first, graph(running(steps), *args))


def test_a_call_of_nothing_is_refused() -> None:
    looped = "func.func @main() { call @main() : () -> () return }"
    with pytest.raises(ArtifactError, match="calls itself"):
        compare(text_graph(looped), text_graph(looped))


def test_a_chain_of_functions_that_is_too_deep_is_refused() -> None:
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


def test_common_subsequences() -> None:
    random_ = random.Random(0)
    for _ in range(200):
        first, second = ("".join(random_.choices("abcd", k=random_.randrange(12))) for _ in "ab")
        found = common(first, second)
        assert all(first[i] == second[j] for i, j in found)
        assert found == rising(found)
        assert len(found) == longest(first, second)


def longest(first: str, second: str) -> int:
    if not first or not second:
        return 0
    row = [0] * (len(second) + 1)
    for a in first:
        above = row[:]
        for j, b in enumerate(second):
            row[j + 1] = above[j] + 1 if a == b else max(row[j], above[j + 1])
    return row[-1]


def test_long_sequences_of_one_key_are_aligned_too() -> None:
    found = common(["x", *"a" * 2000, "y"], ["z", *"a" * 1999, "b", "y"])
    assert len(found) == 2000


def sharded(sizes: tuple[int, int] = (4, 2), axis: str = "x", pinned: str = "y") -> Graph:
    mesh = AbstractMesh(sizes, ("x", "y"))

    def program(x: Any) -> Any:
        return lax.with_sharding_constraint(np.tanh(x), NamedSharding(mesh, PartitionSpec(pinned)))

    given = NamedSharding(mesh, PartitionSpec(axis))
    shape = olympus.ShapeDtypeStruct((8, 8), "float32")
    return graph_of(olympus.jit(program, in_shardings=(given,)).trace(shape).lower().module)


@pytest.mark.parametrize(
    ("other", "role", "what"),
    [
        ({"sizes": (2, 4)}, "program", "sdy.mesh @mesh"),
        ({"axis": "y"}, "argument", "sdy.sharding"),
        ({"pinned": "x"}, "operation", "sharding"),
    ],
)
def test_meshes_and_shardings_are_compared(other: dict[str, Any], role: str, what: str) -> None:
    assert not compare(sharded(), sharded())
    found = compare(sharded(), sharded(**other))
    (change,) = found.changes
    assert (change.role, [detail.what for detail in change.details]) == (role, [what])
    assert found.fingerprints[0] != found.fingerprints[1]
