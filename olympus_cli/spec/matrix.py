"""The matrix of a target: one set of values for each combination of its lists.

`{key}` in a text of the target is replaced by the key's value.  A text that is just "{key}" becomes
the value itself, with its type.  A key that no text has in braces is a static argument of that
name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

#: One combination: a value for each key of the matrix.
Values = Mapping[str, object]

_SIZES = re.compile(r"\w\}?\[([^\[\]]*)\]")  # the sizes of a shape, after its dtype
_PLACEHOLDER = re.compile(r"\{\s*([A-Za-z_]\w*)\s*\}")


def combinations(matrix: Mapping[str, Sequence[object]]) -> list[Values]:
    """Return all choices of one value per key, the last key varying fastest.

    Without keys there is one empty choice.
    """
    return list(each_combination(matrix))


def each_combination(matrix: Mapping[str, Sequence[object]]) -> Iterator[Values]:
    """Yield the values of `combinations` one by one."""
    for choice in itertools.product(*matrix.values()):
        yield dict(zip(matrix, choice, strict=True))


def suffix(values: Values) -> str:
    """Return the suffix of a combination's target name, such as "@batch=8,train=true"."""
    return "@" + ",".join(f"{k}={text_of(v)}" for k, v in values.items()) if values else ""


def repeated(values: Sequence[object]) -> str | None:
    """Return the text of a key's first value that repeats the text of an earlier one, or None.

    Example: `repeated([1, 8, "1"]) == "1"`.
    """
    texts = [text_of(value) for value in values]
    return next((text for i, text in enumerate(texts) if text in texts[:i]), None)


def placeholders(tree: object) -> set[str]:
    """Return the names in braces in the texts of `tree`, a value of TOML.

    Example: `placeholders({"x": "f32[{batch},8]"}) == {"batch"}`.
    """
    return {name for _, name in references(tree)}


def references(tree: object) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path of the text and the name, for each name in braces in the texts of `tree`.

    Example: `list(references({"x": ["f32[{n}]"]})) == [(("x", 0), "n")]`.
    """
    for path, text in _texts(tree):
        for name in _PLACEHOLDER.findall(text):
            yield path, name


def sizes(tree: object) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the references of `tree` that are sizes of a shape.

    Example: `list(sizes({"x": "{dtype}[{n},8]"})) == [(("x",), "n")]`.
    """
    for path, text in _texts(tree):
        for listed in _SIZES.findall(text):
            for name in _PLACEHOLDER.findall(listed):
                yield path, name


def _texts(
    tree: object, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the text, for each text of `tree`."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, dict | list):
        for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _texts(part, (*path, key))


def depth(tree: object) -> int:
    """Return the depth of the nested tables and arrays in `tree`.

    Example: `depth({"x": ["f32[]"]}) == 2`.
    """
    levels, level = 0, [tree]
    while level := [node for node in level if isinstance(node, dict | list)]:
        level = [part for node in level for part in _parts(node)]
        levels += 1
    return levels


def _parts(node: dict[str, object] | list[object]) -> Iterable[object]:
    return node.values() if isinstance(node, dict) else node


def fill(tree: object, values: Values) -> object:
    """Return `tree` with its placeholders replaced by `values`.

    A text that is only a placeholder is replaced by the value itself, with its type.

    Example: `fill({"x": "f32[{n}]", "k": "{n}"}, {"n": 8}) == {"x": "f32[8]", "k": 8}`.
    """
    if isinstance(tree, dict):
        return {key: fill(value, values) for key, value in tree.items()}
    if isinstance(tree, list):
        return [fill(value, values) for value in tree]
    if not isinstance(tree, str):
        return tree
    alone = _PLACEHOLDER.fullmatch(tree)
    if alone:
        return values.get(alone.group(1), tree)
    return _PLACEHOLDER.sub(lambda match: text_of(values.get(match.group(1), match.group())), tree)


def text_of(value: object) -> str:
    """Return the text that replaces a key, for a value of the matrix: `true` for True."""
    return str(value).lower() if isinstance(value, bool) else str(value)
