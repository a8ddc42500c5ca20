"""The differences between the structures of two trees, for messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from olympus_core.base import tree


class TreeDifference(NamedTuple):
    """A place where two structures differ: its path, both descriptions, and the reason."""

    path: str
    first: str
    second: str
    reason: str


def differences(
    first: tree.PyTreeDef, second: tree.PyTreeDef, leaf: str = "pytree leaf", path: str = ""
) -> Iterator[TreeDifference]:
    """Yield the outermost places where two structures differ; `leaf` is the word for a leaf.

    >>> a, b = structure((1, [2])), structure((1, [2, 3]))
    >>> [(d.path, d.first, d.second) for d in differences(a, b)]
    [('[1]', 'list of length 1', 'list of length 2')]
    """
    if first == second:
        return
    mine, theirs = first.node_data(), second.node_data()
    types = [leaf if node is None else f"{node[0]}" for node in (mine, theirs)]
    if mine is None or theirs is None or mine[0] is not theirs[0]:
        yield TreeDifference(path, types[0], types[1], "their Python types differ")
        return
    parts, others = first.children(), second.children()
    if len(parts) != len(others):
        yield TreeDifference(path, *_sizes(mine, theirs, len(parts), len(others)))
        return
    if mine[1] != theirs[1]:
        texts = [
            f"{node[0]} with pytree metadata {node[1]}" for node in (_keys(mine), _keys(theirs))
        ]
        yield TreeDifference(path, texts[0], texts[1], "the pytree node metadata does not match")
        return
    for place, part, other in zip(_places(first), parts, others, strict=True):
        yield from differences(part, other, leaf, path + place)


def _keys(node: tuple[type, Any]) -> tuple[type, Any]:
    """Return the type and the static data of a node; the keys of a dict as a tuple."""
    return (node[0], tuple(node[1])) if node[0] is dict else node


def _sizes(
    mine: tuple[type, Any], theirs: tuple[type, Any], count: int, other: int
) -> tuple[str, str, str]:
    cls = mine[0]
    if cls in (tuple, list):
        name = cls.__name__
        first, second = f"{name} of length {count}", f"{name} of length {other}"
        return first, second, "the lengths do not match"
    texts = [f"{cls} with {n} child{'ren'[: 3 * (n != 1)]}" for n in (count, other)]
    reason = "the numbers of children do not match"
    if cls is dict:
        keys = sorted(map(str, set(mine[1]) ^ set(theirs[1])))
        reason += f", with the symmetric difference of key sets: {{{', '.join(keys)}}}"
    return texts[0], texts[1], reason


def _places(structure: tree.PyTreeDef) -> Sequence[str]:
    """Return the text of the key of each child of a structure."""
    paths = tree.flatten_with_path(structure.unflatten(range(structure.num_leaves)))[0]
    node, texts, start = structure.node_data(), [], 0
    for i, child in enumerate(structure.children()):
        if child.num_leaves:
            texts.append(tree.keystr(paths[start][0][:1]))
        else:
            texts.append(f"[{node[1][i]!r}]" if node is not None and node[0] is dict else f"[{i}]")
        start += child.num_leaves
    return texts


def lines(first: tree.PyTreeDef, second: tree.PyTreeDef, form: str, name: str = "") -> str:
    """Return the differences as sentences, in `form`, each with its reason.

    `form` has the fields `path`, `first` and `second`; `name` is before each path.

    >>> print(lines(structure(1), structure((1,)), "{path} is a {first}, and {second} there", "x"))
    x is a pytree leaf, and <class 'tuple'> there, so their Python types differ
    """
    found = list(differences(first, second))
    return listed(
        [
            form.format(path=name + d.path, first=d.first, second=d.second) + f", so {d.reason}"
            for d in found
        ]
    )


def listed(sentences: Sequence[str]) -> str:
    """Return one sentence with a capital, or several as a list.

    >>> print(listed(["the carry differs", "the result differs"]))
      * the carry differs;
      * the result differs
    """
    if len(sentences) == 1:
        sentence = sentences[0]
        is_word = sentence.startswith("the ")
        return sentence[:1].upper() + sentence[1:] if is_word else sentence
    return ";\n".join(f"  * {sentence}" for sentence in sentences)
