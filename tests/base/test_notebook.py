"""Stages and costs as HTML: escaped, cut where they are large, with nothing from outside."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

import olympus as ox
import olympus.numpy as np
from olympus_core.base.notebook import _MAX_LINES, _shown

HOSTILE = "<img src=x onerror=alert(1)>\"'&</pre><script>\u202e\x1b"


class Tags(HTMLParser):
    """The tags of a page with their attributes, and whether each is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(page: str) -> Tags:
    parser = Tags()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert parser.seen <= {"div", "b", "table", "tr", "th", "td", "details", "summary", "pre"}
    assert parser.attributes == {"style"}, "nothing is run, named or loaded"
    assert not re.search(r"url\(|https?:|#[0-9a-f]{3}\b|rgb", page), "no resource and no colour"
    return parser


def stages(function: Any, *args: Any) -> list[Any]:
    traced = ox.jit(function).trace(*args)
    lowered = traced.lower()
    return [traced, lowered, lowered.compile(), lowered.cost()]


def test_each_stage_has_its_arrays_program_and_figures() -> None:
    def forward(params: Any, x: Any) -> Any:
        return np.tanh(x @ params["w"])

    args = {"w": ox.ShapeDtypeStruct((4, 2), "float32")}, ox.ShapeDtypeStruct((8, 4), "float32")
    traced, lowered, compiled, cost = (each._repr_html_() for each in stages(forward, *args))
    for page in (traced, lowered, compiled, cost):
        tags(page)
    assert "Traced &#x27;forward&#x27;" in traced and "dot_general" in traced
    assert "params[&#x27;w&#x27;]</td>" in lowered and "float32[4,2]" in lowered
    assert "stablehlo.tanh" in lowered and ">128<" in lowered, "the flops"
    assert "HloModule" in compiled and "peak" in compiled and ">cpu<" in compiled
    assert "test_notebook.py:" in cost and "100.0%" in cost


def test_hostile_names_are_text() -> None:
    def forward(x: Any) -> Any:
        with ox.named_scope("<b>"):
            return {HOSTILE: np.tanh(x[HOSTILE])}

    forward.__name__ = HOSTILE
    forward.__qualname__ = HOSTILE
    for stage in stages(forward, {HOSTILE: ox.ShapeDtypeStruct((3,), "float32")}):
        page = stage._repr_html_()
        tags(page)
        assert "<script" not in page and "<img" not in page
        assert "\u202e" not in page and "\x1b" not in page
    assert _shown("\u202e<") == "\\u202e&lt;"


def test_a_large_program_is_cut_with_a_note() -> None:
    def deep(x: Any) -> Any:
        for _ in range(3 * _MAX_LINES):
            x = np.tanh(x)
        return x

    traced = ox.jit(deep).trace(ox.ShapeDtypeStruct((3,), "float32"))
    page = traced._repr_html_()
    tags(page)
    assert len(page) < 30_000
    whole = len(str(traced.olympuspr).splitlines())
    assert f"... cut: {whole - _MAX_LINES:,} more lines of {whole:,}" in page
    many = ox.jit(lambda *xs: xs).trace(*[ox.ShapeDtypeStruct((), "float32")] * 50)
    assert "... and 30 more arguments" in many._repr_html_()


def test_a_notebook_shows_an_unknown_cost_and_a_failure() -> None:
    def loop(x: Any) -> Any:
        return ox.lax.while_loop(lambda x: x < 3, lambda x: x + 1, x)

    *_, cost = stages(loop, ox.ShapeDtypeStruct((), "float32"))
    page = cost._repr_html_()
    tags(page)
    assert "at least" in page and "is not known" in page


def test_a_program_for_a_gpu_is_shown_without_one() -> None:
    traced = ox.jit(np.tanh).trace(ox.ShapeDtypeStruct((3,), "float32"))
    page = traced.lower(ox.target("gpu", "h200"))._repr_html_()
    tags(page)
    assert "gpu:h200" in page


@pytest.mark.parametrize("value", [None, 0, 1023, 1536, 5 * 2**40])
def test_sizes(value: int | None) -> None:
    from olympus_core.base.notebook import _size

    found = _size(value)
    assert found in {"unknown", "0 B", "1023 B", "1.50 KiB", "5.00 TiB"}
