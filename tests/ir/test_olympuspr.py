"""The text of an Olympuspr: names, parameters, literals, constants and what is not read."""

from __future__ import annotations

import re

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax

SCALAR = olympus.ShapeDtypeStruct((), "float32")


def test_names_run_past_the_alphabet() -> None:
    def f(x):
        for _ in range(26 * 27):
            x = jnp.sin(x)
        return x

    text = str(olympus.make_olympuspr(f)(SCALAR))
    names = re.findall(r"(\w+):f32\[\] = sin", text)
    assert names[:2] == ["b", "c"]
    assert names[24:28] == ["z", "aa", "ab", "ac"]
    assert names[-2:] == ["zz", "aaa"]


def test_names_begin_anew_in_each_program() -> None:
    texts = {str(olympus.make_olympuspr(lambda x: jnp.sin(x) + 1)(SCALAR)) for _ in range(3)}
    assert len(texts) == 1


def test_parameters_are_sorted_and_left_out_where_there_are_none() -> None:
    program = olympus.make_olympuspr(lambda x: jnp.sin(lax.reduce_precision(x, 5, 10)))(SCALAR)
    assert "reduce_precision[exponent_bits=5 mantissa_bits=10] a" in str(program)
    assert "= sin b" in str(program)
    gathered = str(olympus.make_olympuspr(lambda x, i: x[i])(jnp.ones(3), jnp.array([0, 1])))
    names = re.findall(r"^ +(\w+)=", gathered.partition("gather[")[2], re.MULTILINE)
    assert len(names) > 2 and names == sorted(names)


def test_a_result_that_nothing_reads_has_no_name() -> None:
    text = str(olympus.make_olympuspr(lambda x: lax.top_k(x, 1)[0])(jnp.ones(3)))
    assert re.search(r"b:f32\[1\] _:i32\[1\] = top_k", text)


def test_constants_precede_the_inputs() -> None:
    constant = np.arange(3, dtype=np.float32)
    text = str(olympus.make_olympuspr(lambda x: x * constant)(SCALAR))
    assert text.startswith("{ lambda a:f32[3] ; b:f32[]. let")


def test_a_random_key_is_its_words() -> None:
    key = olympus.random.key(0)
    text = str(olympus.make_olympuspr(lambda k: olympus.random.split(k, 3))(key))
    assert text.startswith("{ lambda ; a:u32[2]. let\n    b:u32[3,2] = random_split[shape=(3,)] a")


def test_equations_end_with_their_source_lines_on_request() -> None:
    def f(x):
        def body(carry, _):
            return jnp.sin(carry), None

        return lax.scan(body, x, None, length=3)[0]

    program = olympus.make_olympuspr(f)(SCALAR)
    text = program.pretty_print(source_info=True)
    first = f.__code__.co_firstlineno
    assert re.search(rf"= sin \w+  # {re.escape(__file__)}:{first + 2}$", text, re.MULTILINE)
    assert re.search(rf"= scan\[  # {re.escape(__file__)}:{first + 4}$", text, re.MULTILINE)
    assert re.sub(r"  # .*:\d+$", "", text, flags=re.MULTILINE) == str(program)
    assert program.pretty_print() == str(program)
