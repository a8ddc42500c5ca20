"""The parser of the shape grammar, for text such as `x=f32[8,128], p={w=bf16[3,4]}`.

    shapes  = [ item { "," item } [","] ]         item  = [ name "=" ] value | name "=" size
    value   = dtype "[" [ length { "," length } ] "]" | quoted value | table | array
    length  = size | an expression of symbolic sizes, such as `2*b+1`
    table   = "{" [ name "=" value { "," name "=" value } ] "}"
            | "{" from "=" entry [ "," with "=" TOML table ] "}"
    array   = "[" [ value { "," value } ] "]"

Every error shows the line and marks the character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

from olympus.errors import ShapeError, SpecError
from olympus_cli.spec.model import ArgSpec, FromEntry, ShapeSpec, SizeSpec
from olympus_cli.spec.toml import parse_value
from olympus_cli.text.nearest import did_you_mean, nearest

T = TypeVar("T")

_LONG = (
    *("bool", "int2", "int4", "int8", "int16", "int32", "int64"),
    *("uint2", "uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
)


def _short(name: str) -> str:
    for long, letter in (("uint", "u"), ("int", "i"), ("float", "f"), ("complex", "c")):
        name = name.replace(long, letter)
    return name


#: The long name of a dtype by its short and long names: "f32" and "float32" give "float32".
DTYPES = {**{_short(name): name for name in _LONG}, **{n: n for n in _LONG}, "pred": "bool"}

#: The maximum nesting depth of tables and arrays in an argument.
MAX_DEPTH = 100

_NAME = re.compile(r"[A-Za-z_]\w*")
_KEY = re.compile(r"[A-Za-z_][\w-]*")
_ENTRY = re.compile(r"[\w./\\-]+:[\w.]+")
_DOTTED = re.compile(r"[\w/\\-]+(?:\.\w+)+")
_NAMELESS = re.compile(r"[\w./\\-]+:")
_WITH_KEY = re.compile(r"\s*with\s*=")
# a table in braces, with strings and tables inside it, but no tables inside those
_TOML_TEXT = r"""(?:[^{}"']|"(?:\\.|[^"\\])*"|'[^']*')*"""
_TOML_TABLE = re.compile(rf"\{{{_TOML_TEXT}(?:\{{{_TOML_TEXT}\}}{_TOML_TEXT})*\}}")
_SIZE = re.compile(r"[0-9]+")
# up to the next comma or bracket outside of parentheses
_LENGTH = re.compile(r"(?:[^\[\],(){}]|\((?:[^\[\](){}]|\([^\[\](){}]*\))*\))+")
_VARIABLE = re.compile(r"[A-Za-z_]")
_SPACE = re.compile(r"\s*")
_LARGEST = 2**63 - 1
_WITH = "such as {from=model:cache, with={batch=8}}"
_FORM = "a shape is written f32[8,128]; a scalar is f32[]"
_PLACEHOLDER = (
    "a matrix of olympus.toml fills {name}: write `name = [1, 8]` in [target.NAME.matrix]; a "
    "symbolic size has no braces: f32[b,8]"
)
_EXPRESSION = "a symbolic size is an expression such as b, 2*b+1 or b//4"


def parse_shapes(text: str) -> tuple[list[ArgSpec], dict[str, ArgSpec]]:
    """Return the positional and the named arguments of a `--shapes` text.

    A name with a number is a free size of a model: `batch=8`.

    Raises:
        SpecError: the text does not follow the grammar; the message marks the character.

    Example: `parse_shapes("f32[8], n=i32[]")` is `([ShapeSpec(...)], {"n": ShapeSpec(...)})`.
    """
    reader = _Reader(text)
    positional: list[ArgSpec] = []
    named: dict[str, ArgSpec] = {}

    def item() -> None:
        if reader.key_follows():
            name = reader.key(named)
            named[name] = reader.size_or_value()
        else:
            positional.append(reader.value())

    reader.listed(item, closing="")
    return positional, named


def parse_arg(text: str) -> ArgSpec:
    """Return one argument: a shape, or a table or an array of shapes.

    Raises:
        SpecError: as in `parse_shapes`.
    """
    reader = _Reader(text)
    return reader.whole(reader.value)


class _Reader:
    """A position in a text, and the rules of the grammar as methods that advance it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.depth = 0

    def fail(self, message: str, at: int | None = None, hint: str | None = _FORM) -> NoReturn:
        at = self.at if at is None else at
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:].partition("\n")[0].replace("\t", " ")
        raise SpecError(f"{message}\n  {line}\n  {' ' * (at - start)}^", hint=hint)

    def match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self.text, self.at, self.end)
        if match is None:
            return None
        self.at = match.end()
        return match.group()

    def peek(self) -> str:
        """Skip spaces, and return the next character without consuming it; "" at the end."""
        self.match(_SPACE)
        return self.text[self.at : min(self.at + 1, self.end)]

    def take(self, char: str) -> bool:
        is_next = self.peek() == char != ""
        self.at += is_next
        return is_next

    def found(self) -> str:
        """Return the next character for a message."""
        return repr(self.peek()) if self.peek() else "the end"

    def whole(self, rule: Callable[[], T]) -> T:
        """Return the result of a rule, which must read up to the end."""
        result = rule()
        if self.peek():
            self.fail(f"expected one shape, and found {self.found()} after it")
        return result

    def listed(self, item: Callable[[], None], closing: str) -> None:
        """Read items separated by commas, up to and including `closing`.

        A comma after the last item is optional.
        """
        while self.peek() != closing:
            item()
            if not self.take(",") and self.peek() != closing:
                wanted = f"',' or {closing!r}" if closing else "',' or the end"
                self.fail(f"expected {wanted}, found {self.found()}")
        self.at += len(closing)

    def key_follows(self) -> bool:
        """Return True if a name and "=" follow; the position does not change."""
        start = self.at
        quote = self.peek() in ("'", '"')
        follows = bool(self.quoted() if quote else self.match(_KEY)) and self.peek() == "="
        self.at = start
        return follows

    def key(self, names: dict[str, ArgSpec]) -> str:
        """Read a name and its "="; `names` has the earlier names of the same table."""
        quote, start = self.peek() in ("'", '"'), self.at
        name = self.quoted() if quote else self.match(_KEY)
        if not name:
            self.fail(f"expected a name, found {self.found()}", hint="a table is {w=f32[3,4]}")
        if name in names:
            self.fail(f"{name!r} is given twice", start, hint=None)
        if not self.take("="):
            self.fail(f"expected '=' after {name!r}, found {self.found()}")
        return name

    def quoted(self) -> str:
        start, quote = self.at, self.text[self.at]
        stop = self.text.find(quote, start + 1, self.end)
        if stop < 0:
            self.fail("this quote is never closed", start, hint=None)
        self.at = stop + 1
        return self.text[start + 1 : stop]

    def value(self) -> ArgSpec:
        match self.peek():
            case "{":
                return self.nested(self.table)
            case "[":
                return self.nested(self.array)
            case "'" | '"':
                return self.nested(self.inside_quotes)
        return self.shape()

    def size_or_value(self) -> ArgSpec:
        """Read a value, or the number of a free size."""
        return SizeSpec(self.size()) if self.peek().isdecimal() else self.value()

    def nested(self, rule: Callable[[], T]) -> T:
        """Return the result of a rule for a part that is one level deeper."""
        if self.depth == MAX_DEPTH:
            self.fail(f"tables and arrays are nested more than {MAX_DEPTH} deep", hint=None)
        self.depth += 1
        result = rule()
        self.depth -= 1
        return result

    def inside_quotes(self) -> ArgSpec:
        """Read a value in quotes, such as '"f32[8]"'."""
        start, end = self.at, self.end
        self.quoted()
        stop = self.at
        self.at, self.end = start + 1, stop - 1
        result = self.whole(self.value)
        self.at, self.end = stop, end
        return result

    def array(self) -> list[ArgSpec]:
        self.at += 1
        items: list[ArgSpec] = []
        self.listed(lambda: items.append(self.value()), "]")
        return items

    def table(self) -> FromEntry | dict[str, ArgSpec]:
        self.at += 1
        items: dict[str, ArgSpec] = {}
        entry: list[FromEntry] = []

        def item() -> None:
            name = self.key(items)
            from_entry = self.entry() if name == "from" and not items else None
            if from_entry is not None:
                entry.append(FromEntry(from_entry, self.with_values()))
                if self.peek() != "}":
                    self.fail("a table with `from` has no other key than `with`", hint=_WITH)
            else:
                items[name] = self.value()

        self.listed(item, "}")
        return entry[0] if entry else items

    def entry(self) -> str | None:
        """Read the entry after `from =`, bare or quoted; None if a shape follows instead."""
        start = self.at
        text = self.quoted() if self.peek() in ("'", '"') else self.match(_ENTRY)
        if text is None and self.match(_NAMELESS):
            self.fail(
                "expected the name of a function after ':'", hint="an entry is module:function"
            )
        if text is None or ":" not in text:
            if text is None and (match := self.match(_DOTTED)) and self.peek() in (",", "}"):
                place, _, name = match.rpartition(".")
                self.fail(f"{match} has no ':'", start, f"did you mean {place}:{name}?")
            self.at = start
            return None
        return text

    def with_values(self) -> Mapping[str, object]:
        """Read the arguments in `, with = { name = value }` after an entry; {} if it is absent."""
        start = self.at
        self.take(",")
        if not self.match(_WITH_KEY):
            self.at = start
            return {}
        self.peek()
        start = self.at
        values = _TOML_TABLE.match(self.text, start, self.end)
        if values is None:
            self.fail("expected a table of values after `with`", hint=_WITH)
        try:
            table = parse_value(values.group())
        except ValueError:
            self.fail("this is not a table of TOML values", start, hint=_WITH)
        self.at = values.end()
        assert isinstance(table, dict)  # the text is in braces
        return table

    def shape(self) -> ShapeSpec:
        self.peek()
        start = self.at
        name = self.match(_NAME)
        if name is None:
            self.fail(f"expected a shape, found {self.found()}")
        if name not in DTYPES:
            hint = did_you_mean(name, DTYPES) if nearest(name, DTYPES) else _FORM
            if self.peek() == ":":
                hint = f"a name has '=' after it: {name}=f32[8,128]"
            self.fail(f"no dtype is named {name!r}", start, hint)
        if not self.take("["):
            self.fail(f"expected '[' after {name!r}, found {self.found()}")
        sizes: list[int | str] = []
        self.listed(lambda: sizes.append(self.length()), "]")
        return ShapeSpec(DTYPES[name], tuple(sizes))

    def length(self) -> int | str:
        """Read a size, or a symbolic size, whose canonical text is returned."""
        self.peek()
        text = _LENGTH.match(self.text, self.at, self.end)
        if text is None or not _VARIABLE.search(text.group()):
            return self.size()
        from olympus.export import symbolic_shape  # few shapes are symbolic

        try:
            (length,) = symbolic_shape(text.group())
        except ShapeError as error:
            reason = str(error).partition(": ")[2].partition(". Parsed")[0]
            self.fail(f"{text.group().strip()!r} is not a size: {reason}", hint=_EXPRESSION)
        self.at = text.end()
        return length if isinstance(length, int) else str(length)

    def size(self) -> int:
        self.peek()
        start = self.at
        digits = self.match(_SIZE)
        if digits is None:
            text = self.found()
            letter = self.match(_NAME)
            self.at = start
            is_placeholder = letter is None and text == repr("{")
            hint = _PLACEHOLDER.format(name="{name}") if is_placeholder else _FORM
            self.fail(f"a size is a whole number, 0 or more; found {text}", hint=hint)
        if len(digits) > len(str(_LARGEST)) or int(digits) > _LARGEST:
            self.fail(f"a size is at most {_LARGEST}", start, hint=None)
        return int(digits)
