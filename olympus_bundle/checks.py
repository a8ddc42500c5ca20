"""The check of a bundle's manifest against an executable.

A manifest that is believed without it makes wrong answers: bytes of one dtype are read as another,
rows as columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from olympus_bundle.errors import ArtifactError
from olympus_bundle.manifest import ArrayInfo, Signature, type_text


def compare_types(
    kind: str,
    where: str,
    arrays: Sequence[ArrayInfo],
    declared: Sequence[object],
    actual: Sequence[object],
) -> None:
    """Compare the declared types of the arguments or results, `kind`, with those of a program.

    Raises:
      ArtifactError: they differ; `where` names the program.
    """
    if len(declared) != len(actual):
        raise ArtifactError(
            f"its {where} has {counted(len(actual), kind)}, and its manifest has {len(declared)}"
        )
    for array, expected, type_ in zip(arrays, declared, actual, strict=True):
        if expected != type_:
            raise ArtifactError(
                f"its {where} has the {kind} {array.name!r} as {_text(type_)}, and its manifest "
                f"has {_text(expected)}"
            )


def check_donation(signature: Signature, shared: int | None) -> None:
    """Raise ArtifactError if `shared` bytes of arguments are reused and no argument is donated."""
    if shared and not any(argument.donated for argument in signature.arguments):
        raise ArtifactError(
            "its executable writes results over its arguments, and no argument is "
            "donated in its manifest"
        )


def counted(number: int, kind: str) -> str:
    """Return a number of things as text.

    >>> counted(2, "result")
    '2 results'
    """
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"


def _text(type_: object) -> str:
    return type_text(*type_) if isinstance(type_, tuple) else str(type_)
