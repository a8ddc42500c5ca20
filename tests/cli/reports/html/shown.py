"""A page in a browser, and the layout and contrast of its elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

PHONE = {"viewport": {"width": 400, "height": 860}}


class Shown:
    """A page in the browser, with its messages and requests."""

    def __init__(self, browser: Browser, file: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"reduced_motion": "reduce", **options})
        self.page: Page = self.context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())


def contrast(page: Page) -> list[tuple[str, float]]:
    """The lowest contrast of texts with the page behind them (WCAG 2.1, relative luminance)."""
    return page.evaluate("""() => {
      const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (text) => rgb(text).slice(0, 3).map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (at) => {
        for (; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (colour.startsWith("rgb(")) return colour;
        }
      };
      return [...document.querySelectorAll("body *")]
        .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
        .filter((e) => e.checkVisibility() && !e.closest("svg, script, .skip"))
        .map((e) => {
          const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
          return [e.className + " " + e.textContent.slice(0, 30), (a + 0.05) / (b + 0.05)];
        });
    }""")


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    """The rectangles of the visible elements."""
    rectangles: list[dict[str, float]] = page.evaluate(
        """selector => [...document.querySelectorAll(selector)]
          .filter((e) => e.checkVisibility())
          .map((e) => e.getBoundingClientRect())
          .map(({ left, top, right, bottom }) => ({ left, top, right, bottom }))""",
        selector,
    )
    return rectangles


def overlap(first: dict[str, float], second: dict[str, float]) -> bool:
    return (
        first["left"] < second["right"]
        and second["left"] < first["right"]
        and first["top"] < second["bottom"]
        and second["top"] < first["bottom"]
    )
