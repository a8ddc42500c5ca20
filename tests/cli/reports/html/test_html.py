"""report.html: its content, escaped names, and no reference to another file."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import olympus
from olympus.analysis import CostFigures, CostRow, LiveBuffer, Unknown
from olympus_cli.reports.groups import buffer_groups, buffer_text
from olympus_cli.reports.html.calls import call_graph
from olympus_cli.reports.html.charts import memory_chart, roofline_chart
from olympus_cli.reports.html.gather import roof_of, roof_of_cpu
from olympus_cli.reports.html.listing import (
    Mark,
    hlo_listing,
    olympuspr_listing,
    stablehlo_listing,
)
from olympus_cli.reports.html.page import Page
from olympus_cli.reports.html.render import render_html
from olympus_cli.reports.html.source import AnnotatedLine, Fold, annotated_files
from olympus_cli.reports.json import render_json
from olympus_cli.reports.program_figures import CostReport, unknown_text
from olympus_cli.reports.stacks import FrameReport, StackReport
from tests.cli.arrays import arg_info
from tests.cli.pages import MODEL, meshed, page, page_with, stages

HOSTILE = "</script><img src=x onerror=alert(1)>\"'{{ 7 * 7 }}\u202e\x1b[31m\udc80"


class Read(HTMLParser):
    """The tags of a page, the texts of its scripts, and its figures by name."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.figures: dict[str, list[str]] = {}
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "script":
            self._script = attributes.get("id") or "code"
            self.scripts[self._script] = ""
        if "data-figure" in attributes:
            self.figures.setdefault(str(attributes["data-figure"]), []).append(
                str(attributes.get("value"))
            )

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data

    def unpacked(self, name: str) -> Any:
        return json.loads(zlib.decompress(base64.b64decode(self.scripts[name])))


def test_the_page_is_one_file_that_loads_nothing() -> None:
    read = Read(render_html(page()))
    assert not {"iframe", "object", "embed", "base", "form"} & {tag for tag, _ in read.tags}
    links = [
        attributes[name]
        for _, attributes in read.tags
        for name in ("src", "href")
        if name in attributes
    ]
    assert links
    assert {"#", "d"} >= {str(link)[0] for link in links}  # in the page, or data:
    (policy,) = (f["content"] for t, f in read.tags if t == "meta" and "http-equiv" in f)
    digest = base64.b64encode(hashlib.sha256(read.scripts["code"].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_the_licence_of_the_drawing_library_is_in_the_page() -> None:
    assert (
        "Permission is hereby granted, free of charge" in Read(render_html(page())).scripts["code"]
    )


def test_a_page_has_the_same_text_each_time() -> None:
    assert render_html(page()) == render_html(page(1))


def test_the_page_has_the_numbers_of_the_json() -> None:
    read = Read(render_html(page()))
    data = json.loads(render_json(page().report))
    backend = data["backends"][0]
    shown = {name: float(values[0]) for name, values in read.figures.items() if name != "fits"}
    for name in ("flops", "bytes", "operations"):
        assert shown[name] == backend["cost"][name] > 0
    assert shown["peak"] == shown["memory-peak"] == backend["memory"]["peak"] > 0
    assert shown["seconds"] == backend["estimate"]["seconds"]
    for name, seconds in data["seconds"].items():
        assert shown[f"seconds-{name}"] == seconds
    for name in ("arguments", "results", "temporaries", "constants", "allocated"):
        assert shown[f"memory-{name}"] == backend["memory"][name]


def test_an_unknown_figure_is_shown_with_its_reason() -> None:
    cost = page().report.backends[0].cost
    least = CostFigures(**{name: getattr(cost, name) for name in CostFigures.__dataclass_fields__})
    why = Unknown("while loop", "model.py:16", "its condition reads an argument")
    unknown = replace(cost, flops=None, bytes=None, unknown=(why,), at_least=least)
    backend = replace(page().report.backends[0], cost=unknown, fits=None)
    changed = replace(
        page_with(backends=(backend,)), backends=(replace(page().backends[0], report=backend),)
    )
    text = render_html(changed)
    read = Read(text)
    assert "flops" not in read.figures and "fits" not in read.figures
    assert read.figures["flops-at-least"] == [str(least.flops)]
    assert text.count("its condition reads an argument") == 1
    warned = page_with(backends=(backend,), warnings=(f"not known: {unknown_text(why)}", "another"))
    text = render_html(replace(warned, backends=changed.backends))
    assert text.count("its condition reads an argument") == 1
    assert text.count('<p class="warning">') == 1


def test_hostile_names_are_escaped() -> None:
    leaf = arg_info(HOSTILE, "float32", (16, 16), donated=True)
    row = replace(page().report.backends[0].cost.lines[0], key=f"{HOSTILE}:3")
    cost = replace(page().report.backends[0].cost, lines=(row,))
    backend = replace(page().report.backends[0], cost=cost, blocks=(), ops={HOSTILE: 3})
    changes = dict.fromkeys(("target", "entry", "optimize"), HOSTILE)
    bad = page_with(
        **changes,
        statics={HOSTILE: HOSTILE},
        versions={**page().report.versions, HOSTILE: HOSTILE},
        arguments=(leaf,),
        warnings=(HOSTILE,),
        backends=(backend,),
    )
    listing = replace(page().olympuspr, lines=(HOSTILE,), where=(0,))
    listing = replace(listing, marks=(Mark(HOSTILE, HOSTILE, 3),))
    stablehlo, hlo = (replace(listing, language=name) for name in ("mlir", "hlo"))
    listed = replace(page().backends[0], report=backend, stablehlo=stablehlo, optimized=hlo)
    bad = replace(bad, backends=(listed,), olympuspr=listing, sources={HOSTILE: HOSTILE * 3})
    text = render_html(bad)
    plain, hostile = Read(render_html(page())), Read(text)
    assert "img" not in {tag for tag, _ in hostile.tags}
    assert not [
        attributes for _, attributes in hostile.tags for name in attributes if name.startswith("on")
    ]
    assert len(hostile.scripts) == len(plain.scripts)
    assert hostile.scripts["code"] == plain.scripts["code"]
    assert "49" not in unescape(text.partition("<h1>")[2].partition("</h1>")[0])
    for obeyed in ("\u202e", "\x1b", "\udc80"):
        assert obeyed not in text
        assert obeyed not in hostile.unpacked("olympuspr")["lines"]
    assert hostile.unpacked("olympuspr")["lines"].startswith("</script><img")


def test_several_devices_have_their_figures_and_collectives() -> None:
    text = render_html(meshed())
    figures = Read(text).figures
    backend = meshed().report.backends[0]
    assert figures["each-flops"] == [str(10**9)] and figures["all-flops"] == [str(8 * 10**9)]
    assert figures["all-peak-memory"] == [str(2**22)]
    assert figures["repeated"] == ["1.25"]
    assert figures["collective-bytes"] == [str(backend.collective_bytes)]
    assert "Unknown: a loop at model.py:16" in text
    text_of_page = unescape(re.sub("<[^>]*>", " ", text.partition("Collectives by axis")[2]))
    assert (
        "model, data" in text_of_page and "unknown" in text_of_page and "all-gather" in text_of_page
    )
    assert "Devices</h2>" not in render_html(page())


def test_hostile_axes_are_escaped() -> None:
    read = Read(render_html(meshed(HOSTILE, HOSTILE)))
    assert "img" not in {tag for tag, _ in read.tags}
    assert not [
        attributes for _, attributes in read.tags for name in attributes if name.startswith("on")
    ]


# --- programs -----------------------------------------------------------------------------------


def marks(listing: Any) -> list[Mark | None]:
    return [listing.marks[at] if at >= 0 else None for at in listing.where]


def test_lines_of_an_olympuspr_have_their_locations() -> None:
    listing = page().olympuspr
    (line,) = (n for n, text in enumerate(listing.lines) if "= tanh" in text)
    assert marks(listing)[line] == Mark("", "/project/model.py", 16)
    assert not [text for text in listing.lines if "model.py" in text]


def test_lines_of_stablehlo_have_their_locations() -> None:
    listing = page().backends[0].stablehlo
    tanh = [n for n, text in enumerate(listing.lines) if "stablehlo.tanh" in text]
    assert tanh
    for line in tanh:
        mark = marks(listing)[line]
        assert mark is not None and mark[1:] == ("/project/model.py", 16)
        assert mark.scope.endswith("tanh")
    whiles = [n for n, text in enumerate(listing.lines) if "stablehlo.while" in text]
    assert whiles
    assert not [text for text in listing.lines if "loc(" in text or text.startswith("#loc")]


def test_the_text_of_stablehlo_has_no_debug_information() -> None:
    lowered, _ = stages()
    assert "\n".join(page().backends[0].stablehlo.lines) == lowered.as_text().rstrip("\n")


def test_every_form_of_location_in_stablehlo() -> None:
    text = """\
#loc = loc(unknown)
#loc1 = loc("/a \\22b\\22/\\C3\\A9.py":3:4)
#loc2 = loc("transpose(f)/scope/add"(#loc1))
#loc3 = loc(callsite(#loc2 at #loc1))
#loc4 = loc(fused[#loc2, #loc1])
#loc5 = loc("alone")
module {
  func.func @main(%arg0: tensor<f32> loc(unknown)) -> tensor<f32> {
    %0 = a %arg0 : tensor<f32> loc(#loc2)
    %1 = b %0 : tensor<f32> loc(#loc3)
    %2 = c %1 : tensor<f32> loc(#loc4)
    %3 = d %2 : tensor<f32> loc(#loc5)
    %4 = "e"(%3) ({
      f loc(#loc)
    }) : () -> () loc(#loc2)
    %5 = g %3 {s = "x"} : tensor<f32> loc("h"(#loc1))
  } loc(#loc)
} loc(#loc)
"""
    locations = marks(stablehlo_listing(text, "p"))
    expected = Mark("scope/add, backward", '/a "b"/\u00e9.py', 3)
    assert locations == [
        *(None, None, expected, expected, expected, Mark("alone", "", 0), expected, None, expected),
        *(expected._replace(scope="h"), None, None),
    ]


def test_a_cyclic_location_has_no_line() -> None:
    text = '#loc1 = loc("a"(#loc2))\n#loc2 = loc("b"(#loc1))\nx loc(#loc1)\n'
    (mark,) = marks(stablehlo_listing(text, "p"))
    assert mark == Mark("a", "", 0)


def test_lines_of_hlo_have_their_locations_from_frames() -> None:
    text = """\
HloModule m, is_scheduled=true

FileNames
1 "/a \\"b\\"/\\303\\251.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY %main {
  %p = f32[8]{0} parameter(0), metadata={op_name="x[\\'a{}\\']"}
  ROOT %t = f32[8]{0} tanh(%p), metadata={op_name="f/tanh" stack_frame_id=1}, backend_config={"a":1}
}
"""
    listing = hlo_listing(text, "p")
    assert [line for line in listing.lines if line] == [
        "HloModule m, is_scheduled=true",
        "ENTRY %main {",
        "  %p = f32[8]{0} parameter(0)",
        '  ROOT %t = f32[8]{0} tanh(%p), backend_config={"a":1}',
        "}",
    ]
    assert [mark for mark in marks(listing) if mark] == [
        Mark("x['a{}']", "", 0),
        Mark("tanh", '/a "b"/\u00e9.py', 7),
    ]


def test_lines_of_hlo_have_their_locations_from_older_compilers() -> None:
    meta = 'metadata={op_type="x" op_name="transpose(f)/f/s/t" source_file="/m" source_line=12}'
    listing = hlo_listing(f"  %a = f32[] add(%x, %y), {meta}, x=1\n", "p")
    assert marks(listing) == [Mark("s/t, backward", "/m", 12)]
    assert listing.lines == ("  %a = f32[] add(%x, %y), x=1",)


def test_a_listing_that_is_too_long_has_the_number_of_omitted_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from olympus_cli.reports.html import listing as module

    monkeypatch.setattr(module, "_MAX_CHARACTERS", 10)
    cut = olympuspr_listing("12345\n789\nabc\ndef", "p")
    assert cut.lines == ("12345", "789")
    assert cut.omitted == 2


# --- source -------------------------------------------------------------------------------------


def shown(files: Any) -> list[str]:
    """The numbers of lines, and folds as first-last."""
    parts = [part for file in files for part in file.parts]
    return [f"{p.first}-{p.last}" if isinstance(p, Fold) else str(p.number) for p in parts]


def test_the_source_shows_lines_with_costs_and_their_blocks() -> None:
    (file,) = annotated_files(page().report.backends[0].cost, {"model.py": MODEL})
    numbers = shown([file])
    lines = MODEL.splitlines()
    assert str(lines.index("def loss(w, x):") + 1) in numbers
    assert numbers[0] == "1-13"
    hot = {p.number for p in file.parts if isinstance(p, AnnotatedLine) and p.row is not None}
    rows = page().report.backends[0].cost.lines
    assert hot == {int(row.key.rpartition(":")[2]) for row in rows if row.key.startswith("model")}
    assert max(p.heat for p in file.parts if isinstance(p, AnnotatedLine)) == 100


def row(key: str, share: float) -> CostRow:
    return CostRow(key, 10, 0, 0, 10, 1, 0, 0, 0, share, "forward")


def cost_of(*rows: CostRow) -> CostReport:
    counts: Any = (20, {}, 0, 20, 8, 2, 0)
    return CostReport(*counts, at_least=CostFigures(*counts), unknown=(), lines=rows)


def test_missing_or_changed_files_show_their_costs() -> None:
    cost = cost_of(row("gone.py:40", 0.5), row("short.py:9", 0.3), row("(unknown)", 0.2))
    missing, short = annotated_files(cost, {"short.py": "x = 1\ny = 2\n"})
    assert (missing.path, missing.has_text, shown([missing])) == ("gone.py", False, ["40"])
    assert (short.path, short.has_text, shown([short])) == ("short.py", True, ["1", "2", "9"])


def test_a_long_file_omits_lines_far_from_its_costs() -> None:
    text = "".join(f"x{n} = {n}\n" for n in range(4000))
    (file,) = annotated_files(cost_of(row("m.py:2000", 1.0)), {"m.py": text})
    assert shown([file]) == ["1-1997", *map(str, range(1998, 2003)), "2003-4000"]
    assert all(not part.lines for part in file.parts if isinstance(part, Fold))


def test_code_is_coloured_line_by_line() -> None:
    (file,) = annotated_files(cost_of(row("m.py:2", 1.0)), {"m.py": 'x = """<b>\n&two\n"""\n'})
    codes = [str(part.code) for part in file.parts if isinstance(part, AnnotatedLine)]
    assert codes[0].endswith('<span class="s2">"""&lt;b&gt;</span>')
    assert codes[1] == '<span class="s2">&amp;two</span>'


def test_only_the_files_with_the_highest_costs_are_shown() -> None:
    cost = cost_of(*(row(f"f{n}.py:1", 1 / (n + 1)) for n in range(50)))
    assert [file.path for file in annotated_files(cost, {})] == [f"f{n}.py" for n in range(20)]


# --- charts -------------------------------------------------------------------------------------


def test_the_roofline_has_the_kernels_that_compute() -> None:
    backend = page().backends[0]
    estimate, roof = backend.report.estimate, backend.roof
    assert estimate is not None and roof is not None
    chart = roofline_chart(estimate, roof)
    assert chart is not None
    assert [kernel["name"] for kernel in chart["kernels"]] == ["dot.1", "fusion.2"]
    assert chart["kernels"][0]["intensity"] == 2048 / 3072
    assert chart["kernels"][0]["rate"] == 2048 * 5 / 4e-6
    assert roofline_chart(replace(estimate, kernels=()), roof) is None
    assert roofline_chart(estimate, replace(roof, bandwidth=None)) is None


def test_a_shortened_schedule_has_its_peak() -> None:
    first = page().backends[0].timeline[0]
    sizes = [n % 977 + (10**6 if n == 7777 else 0) for n in range(10_000)]
    steps = tuple(first._replace(position=n, bytes=size) for n, size in enumerate(sizes))
    chart = memory_chart(steps, None)
    assert chart is not None
    assert len(chart["bytes"]) <= 4000
    assert max(chart["bytes"]) == 10**6 + 7777 % 977
    assert chart["positions"][chart["bytes"].index(max(chart["bytes"]))] == 7777
    assert memory_chart((), None) is None
    assert memory_chart(tuple(step._replace(bytes=0) for step in steps), None) is None


def test_the_page_has_both_backends() -> None:
    read = Read(render_html(page(2)))
    assert [attributes["data-label"] for tag, attributes in read.tags if tag == "article"] == [
        "gpu-h200",
        "cpu",
    ]
    assert len(read.figures["flops"]) == 2
    assert len(read.figures["seconds"]) == 1  # the other backend has no estimate
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(f["href"])[1:] for t, f in read.tags if t == "a" and f["href"] != "data:,"}
    assert targets <= set(map(str, ids))


def test_a_page_of_one_backend_has_no_dead_links() -> None:
    read = Read(render_html(page()))
    ids = {attributes["id"] for _, attributes in read.tags if "id" in attributes}
    assert {str(attributes["href"])[1:] for tag, attributes in read.tags if tag == "a"} <= ids
    assert re.match(r"<!DOCTYPE html>\n", render_html(page()).lstrip())


def test_paths_are_relative_to_the_project() -> None:
    assert page().short("/project/model.py") == "model.py"
    assert page().short("/projects/model.py") == "/projects/model.py"
    assert Page.short(replace(page(), root="/"), "/m.py") == "m.py"


def test_a_gpu_has_the_peaks_of_the_dtypes_of_the_program() -> None:
    model = olympus.stages.shipped_devices()["h200"]
    roof = roof_of(model, {"bfloat16", "float32", "bool"})
    tensor = model.tensor_tflops
    assert tensor.bfloat16 is not None and tensor.tf32 is not None
    assert roof.bandwidth == model.bandwidth and roof.memory == model.memory
    assert roof.peaks["float32"] == model.float32_rate
    assert roof.peaks["bfloat16, tensor cores"] == tensor.bfloat16 * 1e12
    assert roof.peaks["tf32, tensor cores"] == tensor.tf32 * 1e12
    assert "float64" not in roof.peaks
    assert "float64" in roof_of(model, {"float64"}).peaks


def test_a_cpu_has_the_peaks_that_an_estimate_uses() -> None:
    peaks = olympus.analysis.known_peaks()
    roof = roof_of_cpu(peaks, {"float32"})
    assert roof.bandwidth == peaks.read
    assert roof.peaks == {"products in float32": peaks.product_float32, "elementwise": peaks.vector}
    double = roof_of_cpu(peaks, {"float64"}).peaks
    assert double["products in float64"] == peaks.product_float64


def test_the_calls_of_a_program_are_a_flame_graph() -> None:
    frames = FrameReport("step", "model.py:29"), FrameReport("layer<b>", "model.py:16")
    row = dict.fromkeys(CostRow.__dataclass_fields__, 0)
    stacks = [
        StackReport(**{**row, "key": "", "flops": n, "share": n / 4}, frames=frames[:depth])  # type: ignore[arg-type]
        for n, depth in ((3, 2), (1, 1))
    ]
    graph = call_graph(stacks)
    assert graph is not None
    assert re.findall(r'width="([0-9.]+)%" height="21"', graph) == [
        "100.0000",
        "100.0000",
        "75.0000",
    ]
    assert "layer&lt;b&gt; model.py:16, 3 flops (75.0%), 0 B" in graph
    assert call_graph([]) is None
    content = page()
    shown = render_html(
        replace(content, backends=(replace(content.backends[0], stacks=tuple(stacks)),))
    )
    assert 'id="b0-calls"' in shown
    assert 'id="b0-calls"' not in render_html(content)


def test_equal_buffers_are_one_row_with_their_sum() -> None:
    def buffer(name: str, kind: Any, operation: str = "") -> LiveBuffer:
        return LiveBuffer(64, (8, 8), "int8", operation, None, kind, name)

    buffers = [
        *(buffer(f"p[{i}]['w']", "argument", "parameter") for i in range(3)),
        buffer("p[0]['v']", "argument", "parameter"),
        *(buffer(f"fusion.{i}", "temporary", "tanh") for i in range(2)),
    ]
    groups = buffer_groups(buffers)
    assert [len(group) for group in groups] == [3, 2, 1]
    assert [*map(buffer_text, groups)] == ["p[*]['w']", "tanh", "p[0]['v']"]
    content = page()
    shown = render_html(
        replace(content, backends=(replace(content.backends[0], buffers=tuple(buffers)),))
    )
    assert '<data value="192" title="192">192 B</data>' in shown
    assert shown.count('aria-label="3 buffers"') == 1
