"""Rows of fft: every kind, along one axis and several, of even and odd lengths."""

from __future__ import annotations

from tests.primitives.case import Case, arg


def fft(kind: str, shape: tuple[int, ...], lengths: tuple[int, ...], label: str) -> Case:
    """A row of one kind."""
    return Case(
        "fft",
        lambda lax, x: lax.fft(x, kind, lengths),
        (arg(*shape),),
        ("float32",) if kind == "RFFT" else ("complex64",),
        f"{kind.lower()}-{label}",
        atol=1e-5,
    )


CASES: list[Case] = [
    fft("FFT", (3, 5), (5,), "odd"),
    fft("FFT", (2, 3, 4), (3, 4), "two-axes"),
    fft("IFFT", (3, 6), (6,), "even"),
    fft("IFFT", (2, 3, 2, 4), (3, 2, 4), "three-axes"),
    fft("RFFT", (3, 6), (6,), "even"),
    fft("RFFT", (2, 3, 5), (3, 5), "odd"),
    fft("IRFFT", (3, 4), (6,), "even"),
    fft("IRFFT", (2, 3, 3), (3, 5), "odd"),
]
