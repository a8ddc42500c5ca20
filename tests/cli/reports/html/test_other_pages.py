"""The pages of profiles, comparisons and histories in a real browser, without errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from olympus.analysis import Estimate, KernelProfile, Profile
from olympus_cli.diff.comparison import ComparedChange, ComparedSide, ComparedSpot, Comparison
from olympus_cli.diff.html import render_diff_page as render_comparison_page
from olympus_cli.history.page import render_history_page as render_history
from olympus_cli.history.points import Point
from olympus_cli.history.series import ChangeReason, History, lines_of
from olympus_cli.profile.page import render_profile
from olympus_cli.profile.profiled import ProfiledProgram
from tests.cli.history.runs import run, steady
from tests.cli.reports.html.shown import PHONE, Shown, boxes, contrast, overlap
from tests.marks import needs_chromium

pytestmark = needs_chromium


def profiled(*kernels: KernelProfile) -> ProfiledProgram:
    estimate = Estimate("cpu", 5.0, (), (), ())
    profile = Profile(1, 10.0, 9.0, 9.0, kernels, (), estimate, (), ())
    return ProfiledProgram("step", "m:step", "cpu", "line", profile)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_flame_graph_is_drawn_in_every_width_and_theme(
    browser: Browser, tmp_path: Path, theme: str, width: int
) -> None:
    nothing = None, None, 10.0
    program = profiled(
        KernelProfile("ynn_fusion", "dot", "m.py:7", "dense", False, 1, 6.0, *nothing),
        KernelProfile("wrapped_tanh", "tanh", "m.py:8", "dense", True, 1, 3.0, *nothing),
        KernelProfile("(call)", "(call)", None, "", False, 1, 1.0, *nothing),
    )
    file = tmp_path / "profile.html"
    file.write_text(render_profile(program, tmp_path), encoding="utf-8")
    shown = Shown(browser, file, color_scheme=theme, viewport={"width": width, "height": 800})
    assert shown.page.evaluate("document.documentElement.scrollWidth") == width
    graph = shown.page.locator(".flame").bounding_box()
    boxes = {
        name: shown.page.locator(".flame .frame", has_text=name).last.locator("rect").bounding_box()
        for name in ("one call", "dense", "m.py:7", "ynn_fusion", "wrapped_tanh")
    }
    assert graph is not None
    for name, part in {"one call": 1.0, "dense": 0.9, "m.py:7": 0.6, "wrapped_tanh": 0.3}.items():
        box = boxes[name]
        assert box is not None
        assert box["width"] == pytest.approx(part * graph["width"], abs=1.5)
    colours = {
        name: shown.page.locator(f".flame .{name} > rect").first.evaluate(
            "rect => getComputedStyle(rect).fill"
        )
        for name in ("forward", "backward", "overhead")
    }
    assert len(set(colours.values())) == 3
    assert shown.messages == []
    assert {url for url in shown.requests if not url.startswith("data:")} == {file.as_uri()}
    shown.context.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """`opened(text, **options)`: a page in the browser; its console must be empty at the end."""
    shown: list[tuple[Shown, Path]] = []

    def open_text(text: str, **options: Any) -> Page:
        file = tmp_path / f"page-{len(shown)}.html"
        file.write_text(text, encoding="utf-8")
        shown.append((Shown(browser, file, **options), file))
        return shown[-1][0].page

    yield open_text
    for view, file in shown:
        assert view.messages == []
        assert {url for url in view.requests if not url.startswith("data:")} == {file.as_uri()}
        view.context.close()


def other_pages(folder: Path) -> dict[str, str]:
    """Pages of a profile, a comparison and a history."""
    kernels = (
        KernelProfile(
            f"ynn_fusion.{i}", "dot", "model.py:7", "", False, 1, 0.1, 0.05, "memory", 1.25
        )
        for i in range(12)
    )
    return {
        "profile": render_profile(profiled(*kernels), folder),
        "comparison": render_comparison_page(comparison_of_equals()),
        "history": render_history(history_of_steps()),
    }


def comparison_of_equals() -> Comparison:
    """A comparison with one change at twelve layers."""
    spot = ComparedSpot(
        "stablehlo.tanh",
        ("tensor<8x16xf32>",),
        "layers/decoder.py",
        36,
        "",
        "return np.tanh(x @ w) " * 4,
        2,
    )
    change = ComparedChange("operation", "added", "main", None, spot, ())
    sides = tuple(
        ComparedSide(label, "file", label * 8, operations, {}, {})
        for label, operations in (("old/step", 10), ("new/step", 34))
    )
    return Comparison(False, sides, (change,) * 12, (), (), (), (), ())


def history_of_steps() -> History:
    """A history with one change of level, and more runs than its table shows at first."""
    levels = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.3, 1.31, 1.29, 1.3, 1.3, 1.32]
    runs = [replace(run(day), commit=f"{day:x}" * 40) for day, _ in enumerate(levels, 1)]
    points = [Point(run, steady(level)) for run, level in zip(runs, levels, strict=True)]
    (line,) = lines_of(points)
    reason = ChangeReason("same", (), None)
    return History("/project/build/history.sqlite", (line,), ((reason,) * len(line.changes),))


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_fits_and_has_enough_contrast(
    opened: Any, tmp_path: Path, theme: str, width: int
) -> None:
    for name, text in other_pages(tmp_path).items():
        page = opened(text, color_scheme=theme, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width, name
        assert [text for text in contrast(page) if text[1] < 4.5] == [], name
        assert not overlap(*boxes(page, "#theme, h1")), name
        assert page.locator("nav.sections a").count() >= 1, name
        for link in page.locator("nav.sections a").all():
            target = link.get_attribute("href")
            assert target is not None and page.locator(target).count() == 1, name
        page.locator("#theme").click()
        assert page.locator("html").get_attribute("data-theme") == "light", name


def test_equal_rows_of_other_pages_unfold(opened: Any, tmp_path: Path) -> None:
    pages = other_pages(tmp_path)
    for name, button in (("profile", "12 kernels"), ("comparison", "12 changes")):
        page = opened(pages[name], **PHONE)
        members = page.locator("tr.member:visible")
        assert members.count() == 0, name
        page.get_by_role("button", name=button).click()
        assert members.count() == 12, name
        page.emulate_media(media="print")
        assert members.count() == 0, name
    page = opened(pages["comparison"], **PHONE)
    assert "24 operations together" in page.locator("main").inner_text()


def test_the_runs_of_a_history_are_searched_and_sorted(opened: Any, tmp_path: Path) -> None:
    page = opened(other_pages(tmp_path)["history"])
    rows = page.locator("table.sortable tbody:visible")
    assert rows.count() == 14
    page.get_by_role("button", name="figure").click()
    values = page.locator("td[data-value]").evaluate_all("all => all.map((e) => +e.dataset.value)")
    assert values == sorted(values)
    page.get_by_role("button", name="figure").click()
    assert page.locator("td[data-value]").first.get_attribute("data-value") == "1.32"
    page.get_by_label("Search the runs").fill("+30")
    assert rows.count() == 1
    assert page.locator(".matches").inner_text() == "1 of 14"
    assert "+30" in page.locator("dl.pairs").inner_text()
    titles = page.locator("circle title").all_text_contents()
    assert any("+30" in title and "1.30 s" in title and "9999" in title for title in titles)


def test_other_pages_have_their_rows_without_scripts(browser: Browser, tmp_path: Path) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        for name, text in other_pages(tmp_path).items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            page.goto(file.as_uri())
            assert not page.locator("#theme").is_visible()
            assert page.locator("tr.member").count() == page.locator("tr.member:visible").count()
            assert page.locator("tbody tr:visible").count() >= 2
