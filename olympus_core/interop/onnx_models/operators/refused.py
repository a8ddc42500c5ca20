"""The operators that have no form as an array program, with the reason."""

from __future__ import annotations

_REASONS = {
    "strings are not arrays of a program": (
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "RegexFullMatch",
    ),
    "sequences are not arrays of a program": (
        "ConcatFromSequence",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
    ),
    "optionals are not arrays of a program": (
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
    ),
    "a compressed image is not an array of a program": ("ImageDecoder",),
    "the numbers that it draws are not defined by ONNX: make them an input of the model": (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ),
}
#: The reason that each operator of ONNX's own domain is refused.
REFUSED = {name: reason for reason, names in _REASONS.items() for name in names}
_TRAINING = "ai.onnx.preview.training"


def refusal(domain: str, name: str) -> str | None:
    """Return the reason that an operator is refused; None if no reason is known."""
    if domain == _TRAINING:
        return "training operators are not part of a program: use olympus.grad"
    return None if domain else REFUSED.get(name)
