"""report.html in a real browser: drawing, search, folding, tabs and printing, without errors."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from olympus.analysis import KernelEstimate
from olympus_cli.reports.html.listing import Listing, Mark
from olympus_cli.reports.html.render import render_html
from olympus_cli.reports.json import render_json
from tests.cli.pages import MODEL, meshed, page_with
from tests.cli.pages import page as page_of
from tests.cli.reports.html.shown import PHONE, Shown, boxes, contrast, overlap
from tests.cli.reports.html.test_html import HOSTILE
from tests.marks import needs_chromium

pytestmark = needs_chromium


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """`show(page, **options)`: the page in the browser; its console must be empty at the end."""
    open_pages: list[tuple[Shown, Path]] = []

    def opened(content: Any = None, **options: Any) -> Page:
        file = tmp_path / f"report-{len(open_pages)}.html"
        file.write_text(render_html(content or page_of()), encoding="utf-8")
        shown = Shown(browser, file, **options)
        open_pages.append((shown, file))
        return shown.page

    yield opened
    for shown, file in open_pages:
        assert shown.messages == []
        assert {url for url in shown.requests if not url.startswith("data:")} == {file.as_uri()}
        shown.context.close()


def lines(page: Page) -> list[str]:
    """The code of the visible program lines."""
    return page.locator(".rows .row code").all_inner_texts()


def wait_until(page: Page, predicate: str, arg: object = None) -> None:
    """Wait until JavaScript of the page is true.

    Playwright's own wait evaluates text inside the page once a frame, and the page's policy of
    content forbids that, so this function polls.
    """
    deadline = time.monotonic() + 30
    while not page.evaluate(predicate, arg):
        assert time.monotonic() < deadline, f"not true in 30 s: {predicate}"
        page.wait_for_timeout(20)


def open_program(page: Page, title: str) -> None:
    page.locator(".viewer").scroll_into_view_if_needed()
    page.get_by_role("tab", name=title).click()
    page.wait_for_selector(".rows .row")


def test_the_page_has_the_numbers_of_the_json(show: Any) -> None:
    data = json.loads(render_json(page_of().report))["backends"][0]
    page = show()
    expected = {
        "flops": data["cost"]["flops"],
        "bytes": data["cost"]["bytes"],
        "operations": data["cost"]["operations"],
        "peak": data["memory"]["peak"],
        "seconds": data["estimate"]["seconds"],
    }
    for name, number in expected.items():
        shown = page.locator(f"[data-figure={name}]").first
        assert shown.is_visible()
        assert float(shown.get_attribute("value")) == number
    assert page.locator("[data-figure=fits]").inner_text() == "yes"


def test_the_charts_are_drawn(show: Any) -> None:
    page = show()
    for kind in ("roofline", "memory"):
        chart = page.locator(f".chart.{kind} canvas")
        chart.wait_for()
        colours = chart.evaluate(
            "c => new Set(new Uint32Array(c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.buffer)).size"
        )
        assert colours > 10, f"the {kind} is empty"


def test_a_chart_describes_the_element_under_the_pointer(show: Any) -> None:
    page = show()
    page.locator(".chart.memory .u-over").hover()
    assert "live, at" in page.locator("[data-readout=memory]").inner_text()
    page.locator(".chart.roofline .u-over").hover()
    assert "flops per byte" in page.locator("[data-readout=roofline]").inner_text()


def test_each_program_is_shown_in_colour(show: Any) -> None:
    page = show()
    for title, start, kind in (
        ("Olympuspr", "{ lambda", ".k"),
        ("StableHLO", "module @", ".nf"),
        ("Optimized HLO", "HloModule", ".k"),
    ):
        open_program(page, title)
        wait_until(
            page, "s => document.querySelector('.row code').innerText.startsWith(s)", arg=start
        )
        assert page.locator(f".row {kind}").count() > 0


def test_search_steps_through_the_matching_lines(show: Any) -> None:
    page = show()
    open_program(page, "StableHLO")
    count = sum("stablehlo.tanh" in line.lower() for line in page_of().backends[0].stablehlo.lines)
    assert count > 0
    page.get_by_label("Search the program").fill("stablehlo.TANH")
    assert page.locator(".matches").inner_text() == f"1 of {count}"
    assert "stablehlo.tanh" in page.locator(".row.current code").inner_text()
    page.get_by_label("Search the program").press("Enter")
    assert page.locator(".matches").inner_text() == f"{min(2, count)} of {count}"
    page.get_by_label("Search the program").fill("not there at all")
    assert page.locator(".matches").inner_text() == "none"
    assert page.locator(".row.found").count() == 0


def test_folding_hides_inner_lines_and_a_search_unfolds_them(show: Any) -> None:
    page = show()
    open_program(page, "StableHLO")
    all_lines = lines(page)
    page.get_by_role("button", name="Fold all", exact=True).click()
    folded = lines(page)
    assert len(folded) < len(all_lines)
    assert page.locator(".row .folded").count() > 0
    page.get_by_label("Search the program").fill("stablehlo.tanh")
    assert "stablehlo.tanh" in page.locator(".row.current code").inner_text()
    page.get_by_role("button", name="Unfold all").click()
    page.locator(".rows").evaluate("rows => { rows.scrollTop = 0; }")
    wait_until(page, "n => document.querySelectorAll('.rows .row').length >= n", arg=len(all_lines))
    caret = page.locator(".row button.caret").first
    caret.focus()
    page.keyboard.press("Enter")
    assert page.locator(".row").count() < len(all_lines)
    assert page.locator(".row button.caret").first.get_attribute("aria-expanded") == "false"


def test_a_line_of_a_program_links_to_its_source_and_back(show: Any) -> None:
    page = show()
    open_program(page, "StableHLO")
    page.get_by_label("Search the program").fill("stablehlo.tanh")
    link = page.locator(".row.current .from a")
    assert link.inner_text() == "model.py:16"
    link.click()
    line = page.locator(".line.flash")
    assert "np.tanh" in line.inner_text()
    line.locator("button.ln").click()
    assert page.get_by_label("Search the program").input_value() == "model.py:16"
    page.wait_for_selector(".row.current")
    assert page.locator(".row.current .from").inner_text() == "model.py:16"


def test_folded_source_opens(show: Any) -> None:
    page = show()
    fold = page.locator("details.fold").first
    assert not fold.locator(".line").first.is_visible()
    fold.locator("summary").click()
    assert fold.locator(".line").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_the_system_theme_or_the_chosen_one(show: Any, scheme: str) -> None:
    page = show(color_scheme=scheme)

    def shows(theme: str) -> None:
        """Wait until the page has the brightness of a theme, or fail."""
        wait_until(
            page,
            """theme => {
                const parts = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g)
                const sum = parts.slice(0, 3).map(Number).reduce((a, b) => a + b)
                return (sum / 3 > 128) === (theme === 'light')
            }""",
            arg=theme,
        )

    shows(scheme)
    button = page.locator("#theme")
    button.click()
    shows("light")
    button.click()
    shows("dark")
    page.reload()
    shows("dark")  # the choice is saved
    assert button.inner_text() == "Theme: dark"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(show: Any, scheme: str) -> None:
    page = show(color_scheme=scheme)
    open_program(page, "StableHLO")
    contrasts = contrast(page)
    assert len(contrasts) > 100
    assert [text for text in contrasts if text[1] < 4.5] == []


@pytest.mark.parametrize("width", [400, 720, 1400])
def test_the_page_never_scrolls_horizontally(show: Any, width: int) -> None:
    page = show(viewport={"width": width, "height": 900})
    open_program(page, "Optimized HLO")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page = show(page_of(2), viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_collectives_of_a_program_fit_a_phone(show: Any, scheme: str) -> None:
    page = show(meshed(), color_scheme=scheme, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert [text for text in contrast(page) if text[1] < 4.5] == []
    rows = page.locator("table.collectives tbody tr:visible")
    assert rows.count() == 12
    page.get_by_role("button", name="Show 21 collectives").click()
    assert rows.count() == 21
    page.locator("nav.sections a", has_text="Devices").click()
    assert page.locator("table.devices").is_visible()


def test_the_printed_page_has_its_figures_and_no_buttons(show: Any) -> None:
    page = show(page_of(2), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#b1 .tiles").is_visible()  # the figures of the tab that is not selected
    assert not page.locator("#theme").is_visible()
    assert not page.locator(".viewer").first.is_visible()
    assert page.locator(".elsewhere").first.is_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_backends_are_tabs_with_keyboard_navigation(show: Any) -> None:
    page = show(page_of(2))
    assert page.locator("#b0").is_visible() and not page.locator("#b1").is_visible()
    page.get_by_role("tab", name="gpu-h200").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#b1").is_visible() and not page.locator("#b0").is_visible()
    canvas = page.locator("#b1 .chart.memory canvas")
    canvas.wait_for()
    assert canvas.evaluate("c => c.width") > 300


def test_the_keyboard_reaches_every_control(show: Any) -> None:
    page = show()
    reached = set()
    for _ in range(300):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className + document.activeElement.id"))
        if "rows" in " ".join(reached):
            break
    for part in ("skip", "theme", "ln", "code", "rows"):
        assert any(part in element for element in reached), part


def test_a_large_program_has_few_lines_in_the_document(show: Any) -> None:
    rows = tuple(
        f"  %{n} = stablehlo.add %{n - 1}, %{n - 1} : tensor<8xf32>" for n in range(60_000)
    )
    listing = Listing("StableHLO", "mlir", "p", rows, (), (-1,) * len(rows))
    content = page_of()
    page = show(replace(content, backends=(replace(content.backends[0], stablehlo=listing),)))
    open_program(page, "StableHLO")
    page.locator(".rows").evaluate("rows => { rows.scrollTop = rows.scrollHeight; }")
    wait_until(page, "document.querySelector('.rows').innerText.includes('%59999')")
    assert page.locator(".rows .row").count() < 300
    page.get_by_label("Search the program").fill("%40000 =")
    assert page.locator(".row.current .ln").inner_text() == "40001"


def test_omitted_lines_are_in_a_file(show: Any) -> None:
    content = page_of()
    cut = replace(content.olympuspr, lines=content.olympuspr.lines[:3], omitted=7)
    page = show(replace(content, olympuspr=cut))
    open_program(page, "Olympuspr")
    page.wait_for_selector(".omitted:not([hidden])")
    assert page.locator(".omitted").inner_text() == "7 more lines are in program.olympuspr"


def test_hostile_names_have_no_effect(show: Any) -> None:
    content = page_with(target=HOSTILE, warnings=(HOSTILE,))
    listing = Listing("StableHLO", "mlir", HOSTILE, (HOSTILE,), (Mark(HOSTILE, HOSTILE, 3),), (0,))
    page = show(replace(content, backends=(replace(content.backends[0], stablehlo=listing),)))
    open_program(page, "StableHLO")
    assert lines(page)[0].startswith("</script><img")
    assert page.locator("h1").inner_text().startswith("</script><img")
    assert page.locator("img").count() == 0
    page.get_by_label("Search the program").fill(HOSTILE[:9])
    assert page.locator(".matches").inner_text() == "1 of 1"


def test_the_figures_are_shown_without_scripts(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_html(page_of()), encoding="utf-8")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.locator("[data-figure=flops]").is_visible()
        assert page.locator(".elsewhere").is_visible()
        assert not page.locator(".viewer").is_visible()


def with_kernels(*kernels: KernelEstimate) -> Any:
    """The page with `kernels` in its estimate."""
    content = page_of()
    first = content.backends[0]
    estimate = first.report.estimate
    assert estimate is not None
    changed = replace(estimate, kernels=kernels, seconds=sum(k.seconds for k in kernels))
    return replace(
        content, backends=(replace(first, report=replace(first.report, estimate=changed)),)
    )


def copies(count: int, name: str = "ynn_fusion", line: str = "model.py:16") -> list[KernelEstimate]:
    return [
        KernelEstimate(f"{name}.{i}", "step/dot", line, 2048, 3072, "float32", 5, "compute", 4e-6)
        for i in range(count)
    ]


def test_the_labels_of_a_roofline_do_not_overlap_a_dot(show: Any) -> None:
    spread = [
        KernelEstimate(f"k.{i}.{j}", "dot", None, 2**i, 2**12, "float32", 1, "memory", 2.0**-j)
        for i in range(4, 24, 2)
        for j in range(8, 32, 4)
    ]
    for kernels in (copies(3), spread):
        for width in (400, 1280):
            page = show(with_kernels(*kernels), viewport={"width": width, "height": 800})
            page.locator(".chart.roofline .dot").first.wait_for()
            dots, labels = boxes(page, ".dot"), boxes(page, ".limit")
            assert len(dots) == len(kernels)
            unplaced = page.locator(".limits").inner_text().count("flop/s")
            assert len(labels) + unplaced == 2
            assert not any(overlap(label, dot) for label in labels for dot in dots)
            assert not any(overlap(*pair) for pair in itertools.combinations(labels, 2))


def test_equal_kernels_are_one_row_that_unfolds(show: Any) -> None:
    page = show(with_kernels(*copies(12), *copies(1, line="model.py:24")), **PHONE)
    table = page.locator("table.kernels.sortable")
    rows = table.locator("tbody tr:visible")
    assert rows.count() == 2
    assert "ynn_fusion" in rows.first.inner_text() and "ynn_fusion.0" not in rows.first.inner_text()
    values = rows.first.locator("data").evaluate_all("all => all.map((e) => Number(e.value))")
    assert values == [12 * 5 * 2048, 12 * 5 * 3072, pytest.approx(12 * 4e-6)]
    button = page.get_by_role("button", name="12 kernels")
    assert button.get_attribute("aria-expanded") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert rows.count() == 14
    assert "ynn_fusion.11" in rows.nth(12).inner_text()
    button.click()
    assert rows.count() == 2


def test_source_fits_a_phone_without_scrolling(show: Any) -> None:
    long = MODEL.replace("y = c", "y = " + " + ".join(["carried"] * 20)).replace(
        "return np.tanh(x @ w)", "return np.tanh(x @ w)  # " + "a comment that is long " * 8
    )
    page = show(replace(page_of(), sources={"model.py": long}), **PHONE)
    code = page.locator(".code").first
    assert code.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert (
        page.locator(".line", has_text="a comment that").locator("code").bounding_box()["height"]
        > 3 * page.locator(".line", has_text="def loss").locator("code").bounding_box()["height"]
    )
    # no column of a table is cut or scrolls, except in elements that are meant to scroll
    cut = page.evaluate(
        "[...document.querySelectorAll('table.cards td')].filter((e) => e.checkVisibility())"
        ".filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0
