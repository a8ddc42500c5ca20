"""A target's matrix: one set of values for each combination of its lists.

`{key}` in a shape is replaced by the key's value; a static that is just "{key}" becomes the value
itself; a key that is written nowhere is a static argument of that name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Values",
    "combinations",
    "depth",
    "each_combination",
    "fill",
    "placeholders",
    "repeated",
    "suffix",
]

#: One combination: a value for each key of the matrix.
Values = Mapping[str, object]

_PLACEHOLDER = re.compile(r"\{\s*([A-Za-z_]\w*)\s*\}")


def combinations(matrix: Mapping[str, Sequence[object]]) -> list[Values]:
    """Every choice of one value per key, the last key varying fastest; one empty for no keys."""
    return list(each_combination(matrix))


def each_combination(matrix: Mapping[str, Sequence[object]]) -> Iterator[Values]:
    """The values of `combinations` one by one."""
    for choice in itertools.product(*matrix.values()):
        yield dict(zip(matrix, choice, strict=True))


def suffix(values: Values) -> str:
    """What a combination adds to its target's name, such as "@batch=8,train=true"."""
    return "@" + ",".join(f"{k}={_text(v)}" for k, v in values.items()) if values else ""


def repeated(values: Sequence[object]) -> str | None:
    """The first of a key's values that another one, written alike in a name, comes before.

    Example: `repeated([1, 8, "1"]) == "1"`.
    """
    texts = [_text(value) for value in values]
    return next((text for i, text in enumerate(texts) if text in texts[:i]), None)


def placeholders(tree: object) -> set[str]:
    """The keys that `tree`, TOML of args or statics, has in braces.

    Example: `placeholders({"x": "f32[{batch},8]"}) == {"batch"}`.
    """
    if isinstance(tree, str):
        return set(_PLACEHOLDER.findall(tree))
    if isinstance(tree, dict | list):
        return set().union(*map(placeholders, _parts(tree)))
    return set()


def depth(tree: object) -> int:
    """How many tables and arrays are nested in one another in `tree`.

    Example: `depth({"x": ["f32[]"]}) == 2`.
    """
    found, level = 0, [tree]
    while level := [node for node in level if isinstance(node, dict | list)]:
        level = [part for node in level for part in _parts(node)]
        found += 1
    return found


def _parts(node: dict[str, object] | list[object]) -> Iterable[object]:
    return node.values() if isinstance(node, dict) else node


def fill(tree: object, values: Values) -> object:
    """`tree` with the placeholders of `values` replaced; one that is a whole text gives the value.

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
    return _PLACEHOLDER.sub(lambda found: _text(values.get(found.group(1), found.group())), tree)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
