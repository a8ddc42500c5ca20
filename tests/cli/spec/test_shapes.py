"""The shape grammar: valid texts, and the positions of errors."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olympus.errors import SpecError
from olympus_cli.spec.model import ArgSpec, FromEntry, ShapeSpec
from olympus_cli.spec.shapes import DTYPES, parse_arg, parse_shapes

X = ShapeSpec("float32", (8, 3))


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("f32[8,128]", "float32", (8, 128)),
        ("float32[8, 128]", "float32", (8, 128)),
        ("i32[]", "int32", ()),
        (" bf16 [ 2,\n3, ] ", "bfloat16", (2, 3)),
        ("pred[4]", "bool", (4,)),
        ("u8[0]", "uint8", (0,)),
        ("c64[1]", "complex64", (1,)),
        ("f8_e4m3fn[2]", "float8_e4m3fn", (2,)),
        ("float8_e5m2[2]", "float8_e5m2", (2,)),
    ],
)
def test_a_shape_is_parsed(text: str, dtype: str, shape: tuple[int, ...]) -> None:
    assert parse_arg(text) == ShapeSpec(dtype, shape)


def test_every_dtype_is_one_of_numpys() -> None:
    import ml_dtypes  # noqa: F401
    import numpy as np

    assert all(np.dtype(name).name == name for name in DTYPES.values())


@pytest.mark.parametrize(
    ("text", "positional", "named"),
    [
        ("", [], {}),
        ("f32[8,3], i32[]", [X, ShapeSpec("int32", ())], {}),
        ("x=f32[8,3]", [], {"x": X}),
        ("f32[8,3], y=f32[8,3],", [X], {"y": X}),
        ("p={w=f32[8,3], b='f32[8,3]'}", [], {"p": {"w": X, "b": X}}),
        ('p={"a b"=[f32[8,3], {}], c=[]}', [], {"p": {"a b": [X, {}], "c": []}}),
        ("p='{w=f32[8,3]}'", [], {"p": {"w": X}}),
        ("p={from='m.n:f'}", [], {"p": FromEntry("m.n:f")}),
        (
            "p={from=m:f, with={n=3, s='}', d={k=[1]}}}",
            [],
            {"p": FromEntry("m:f", {"n": 3, "s": "}", "d": {"k": [1]}})},
        ),
        ("{from=m:f, with = { } }", [FromEntry("m:f")], {}),
        ("{from=f32[8,3], with=f32[8,3]}", [{"from": X, "with": X}], {}),
        ("p={from=dir/m.py:C.f}, x=f32[8,3]", [], {"p": FromEntry("dir/m.py:C.f"), "x": X}),
        ("p={from=f32[8,3], to=f32[8,3]}", [], {"p": {"from": X, "to": X}}),
    ],
)
def test_several_shapes_are_parsed(
    text: str, positional: list[ArgSpec], named: dict[str, ArgSpec]
) -> None:
    assert parse_shapes(text) == (positional, named)


@pytest.mark.parametrize(
    ("text", "at", "message", "hint"),
    [
        ("f32[8,", 6, "a size is a whole number", "f32[8,128]"),
        ("f32[8,-1]", 6, "found '-'", "f32[8,128]"),
        ("f32[8,n +]", 6, "'n +' is not a size: unexpected end of string", "2*b+1"),
        ("f32[8,n.m]", 6, "'n.m' is not a size: expecting ',' but found '.'", "2*b+1"),
        ("f32[8,{n}]", 6, "found '{'", "a matrix of olympus.toml fills {name}"),
        ("f32[99999999999999999999]", 4, "at most", ""),
        ("x:f32[8]", 0, "no dtype is named 'x'", "a name has '=' after it: x=f32[8,128]"),
        ("params=from m:f", 7, "no dtype is named 'from'", "a shape is written f32[8,128]"),
        ("p={from=a.b.f}", 8, "a.b.f has no ':'", "did you mean a.b:f?"),
        ("x=flaot32[8]", 2, "no dtype is named 'flaot32'", "float32"),
        ("x=f32", 5, "expected '['", "a scalar is f32[]"),
        ("f32[3] f32[2]", 7, "expected ',' or the end", ""),
        ("f32[3 4]", 6, "expected ',' or ']'", ""),
        ("x=f32[3], x=f32[2]", 10, "'x' is given twice", ""),
        ("p={w=f32[3], w=f32[2]}", 13, "'w' is given twice", ""),
        ("p={f32[3]}", 6, "expected '='", ""),
        ("p={=f32[3]}", 3, "expected a name", ""),
        ("p={w=f32[3]", 11, "expected ',' or '}'", ""),
        ("p=[f32[3]", 9, "expected ',' or ']'", ""),
        ("x='f32[3]", 2, "never closed", ""),
        ("x='f32[3] i32[]'", 10, "expected one shape, and found", ""),
        ("p={from='m:f', x=f32[]}", 13, "has no other key", ""),
        ("p={from=m:f, with=3}", 18, "a table of values after `with`", "with={batch=8}"),
        ("p={from=m:f, with={a=b}}", 18, "not a table of TOML values", "with={batch=8}"),
        ("p={from=m:f, with={a=1}, x=f32[]}", 23, "has no other key", "with={batch=8}"),
        ("x=", 2, "expected a shape, found the end", ""),
        (", f32[2]", 0, "expected a shape, found ','", ""),
    ],
)
def test_an_error_points_at_the_character(text: str, at: int, message: str, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_shapes(text)
    first, line, caret = str(caught.value).split("\n")
    assert message in first
    assert line == "  " + text
    assert caret == "  " + " " * at + "^"
    assert hint in (caught.value.hint or "")


def test_an_error_shows_only_its_own_line() -> None:
    with pytest.raises(SpecError) as caught:
        parse_arg("{w = f32[3],\n b = g32[3]}")
    assert str(caught.value).split("\n")[1:] == ["   b = g32[3]}", "       ^"]


# a slow machine is no failure of the grammar
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True).filter(lambda name: name != "from")
SHAPES = st.builds(
    ShapeSpec,
    st.sampled_from(sorted(set(DTYPES.values()))),
    st.lists(st.integers(0, 2**63 - 1), max_size=4).map(tuple),
)
ARGUMENTS: st.SearchStrategy[ArgSpec] = st.recursive(
    SHAPES | st.builds(FromEntry, st.sampled_from(["m:f", "a.b:C.d", "dir/x-y.py:g"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def written(arg: ArgSpec, quote: str) -> str:
    """The text of an argument, with its leaves in `quote`s."""
    match arg:
        case dict():
            return "{" + ", ".join(f"{k} = {written(v, quote)}" for k, v in arg.items()) + "}"
        case list():
            return "[" + ", ".join(written(item, quote) for item in arg) + "]"
        case FromEntry():
            return f"{{from={quote}{arg.entry}{quote}}}"
    return f"{quote}{arg}{quote}"


@UNHURRIED
@given(st.lists(ARGUMENTS, max_size=3), st.dictionaries(NAMES, ARGUMENTS, max_size=3))
def test_a_written_text_is_read_back(positional: list[ArgSpec], named: dict[str, ArgSpec]) -> None:
    for quote in ("", "'", '"'):
        items = [written(arg, quote) for arg in positional]
        items += [f"{name}={written(arg, quote)}" for name, arg in named.items()]
        assert parse_shapes(", ".join(items)) == (positional, named)


@UNHURRIED
@given(st.text("fi328[]{}=,'\" \nxb:-", max_size=20))
def test_any_text_is_read_or_an_error(text: str) -> None:
    try:
        parse_shapes(text)
    except SpecError as error:
        assert "^" in str(error)
