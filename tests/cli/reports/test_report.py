"""Reports: the schema, the round trip, the counts, and the text for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import jsonschema
import pytest
from click.testing import Result

import olympus_cli
from olympus.analysis import CostFigures, CostRow, Estimate, KernelEstimate, LiveBuffer, Unknown
from olympus.artifact import indented
from olympus.errors import ArtifactError
from olympus.stages import MemoryAnalysis
from olympus_cli.reports.build_report import (
    SCHEMA_VERSION,
    BackendReport,
    BlockReport,
    OutputFile,
    Report,
    ResultOrigin,
    Seconds,
    XlaCost,
    XlaReport,
)
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.json import read_report, render_json, schema, write_report
from olympus_cli.reports.program_figures import CostReport, MemoryReport, uncounted, unfitting
from olympus_cli.reports.report_schema import report_schema
from olympus_cli.reports.text import render_text
from olympus_cli.text.units import byte_size, count, duration
from tests.cli.arrays import arg_info

Invoke = Callable[..., Result]
SCHEMA = Path(olympus_cli.__file__).parent / "reports/report.schema.json"

COUNTS = CostFigures(3_000_000_000, {"float32": 2_000_000_000}, 7, 1_500_000, 31_377, 24, 0)
ROW = CostRow("mlp.py:7", 3_000_000_000, 2_000_000_000, 7, 1_500_000, 24, 0, 0, 0, 1.0, "forward")
COST = CostReport(**vars(COUNTS), at_least=COUNTS, unknown=(), lines=(ROW,))
BUFFER = LiveBuffer(31360, (784, 10), "float32", "parameter", None, "argument", "params['w']")
MEMORY = MemoryReport(31361, 16, 2048, None, 8, None, 33_000, 33_433, largest=(BUFFER,))
KERNEL = KernelEstimate("fusion", "fusion", "mlp.py:7", 10, 20, "float32", 1, "memory", 2e-6)
ESTIMATE = Estimate("h200", 2e-6, (KERNEL,), ("it assumes",), ())
REPORT = Report(
    target="mlp",
    entry="mlp:forward",
    versions={"olympus": "1", "jaxlib": "2", "python": "3"},
    statics={"train": "False"},
    arguments=(
        arg_info("params['w']", "float32", (784, 10)),
        arg_info("x", "int8", (), True),
    ),
    results=(arg_info("result", "bfloat16", (8,)),),
    optimize="fast-build",
    seconds=Seconds(0.002, 0.0123, 0.002, 0.001, 1.5, 0.03, 0.02, 0.01),
    peak_memory=300 * 2**20,
    ops={"stablehlo.add": 2, "call": 1},
    backends=(
        BackendReport(
            label="gpu-h200",
            name="gpu",
            device="h200",
            key="0123456789abcdef" * 4,
            cost=COST,
            memory=MEMORY,
            estimate=ESTIMATE,
            fits=True,
            xla=XlaReport(
                XlaCost(2e9, None, 1.0e6), MemoryAnalysis(31361, 16, 2048, 0, None, None)
            ),
            lower_seconds=0.002,
            compile_seconds=1.5,
            xla_seconds=1.25,
            ops={"fusion": 3},
            blocks=(BlockReport("block_1", 107, 11, ("gpt.py:12", "gpt.py:40", "nn/x.py:3")),),
            result=ResultOrigin("compiled", "fedcba9876543210" * 4, None),
        ),
    ),
    outputs=(OutputFile("program.olympuspr", 120, "0" * 64),),
    warnings=("a loop",),
)


def check(data: object) -> None:
    jsonschema.validate(data, schema(), cls=jsonschema.Draft202012Validator)


def test_the_schema_is_valid_and_a_report_matches_it() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    check(json.loads(render_json(REPORT)))
    assert schema()["properties"]["schema_version"]["const"] == SCHEMA_VERSION


def test_the_shipped_schema_matches_the_types(request: pytest.FixtureRequest) -> None:
    text = indented(report_schema()) + "\n"
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, "pytest --update-golden renews it"


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 1},
        {"seconds": {"trace": 1}},
        {"seconds": {**asdict(REPORT.seconds), "trace": -1}},
        {"peak_memory": 1.5},
        {"optimize": "slow-build"},
        {"target": ""},
        {"backends": []},
        {"more": 1},
        {"ops": {"add": 0}},
    ],
)
def test_an_invalid_report_does_not_match_the_schema(change: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({**json.loads(render_json(REPORT)), **change})


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_report(REPORT, tmp_path)
    assert read_report(tmp_path) == REPORT


def test_a_report_is_equal_in_another_process() -> None:
    assert Report.from_data(REPORT.to_data()) == REPORT


def test_sizes_have_exactly_the_keys_of_the_schema() -> None:
    data = REPORT.to_data()
    memory = data["backends"][0]["xla"]["memory"]
    assert list(memory) == ["argument", "output", "temp", "alias", "generated_code", "peak"]
    memory["temp_size_in_bytes"] = memory.pop("temp")
    with pytest.raises(ValueError, match=r"backends\[0\].xla.memory lacks the key 'temp'"):
        Report.from_data(data)
    del memory["temp_size_in_bytes"]
    memory["temp"] = "much"
    with pytest.raises(ValueError, match=r"backends\[0\].xla.memory.temp is not a whole number"):
        Report.from_data(data)


def test_the_intensity_is_flops_per_byte_or_unknown() -> None:
    backend = REPORT.to_data()["backends"][0]
    assert backend["cost"]["arithmetic_intensity"] == 2000.0
    assert backend["xla"]["cost"]["arithmetic_intensity"] == 2000.0
    assert replace(COST, flops=None).intensity is None
    assert replace(COST, bytes=0).intensity is None
    assert XlaCost(None, None, 8.0).intensity is None
    assert XlaCost(8.0, None, 0.0).intensity is None


def test_an_unknown_figure_is_omitted_in_text_and_null_in_json() -> None:
    nothing = MemoryReport(*[None] * 8, largest=())
    unknown = Unknown("while loop", "mlp.py:9", "its trips depend on data")
    cost = replace(COST, flops=None, matmul_flops=None, bytes=None, unknown=(unknown,))
    xla = XlaReport(XlaCost(None, None, None), MemoryAnalysis(*[None] * 6))
    backend = replace(
        REPORT.backends[0], cost=cost, memory=nothing, estimate=None, fits=None, xla=xla
    )
    bare = replace(REPORT, backends=(backend,), peak_memory=None)
    check(json.loads(render_json(bare)))
    assert Report.from_data(bare.to_data()) == bare
    text = render_text(bare)
    assert "unknown" not in text
    assert "flops           at least 3.00 G" in text
    assert "peak memory" not in text
    assert json.loads(render_json(bare))["backends"][0]["cost"]["flops"] is None
    (warning,) = uncounted(cost)
    assert "while loop at mlp.py:9: its trips depend on data" in warning
    assert "--trips mlp.py:9=N" in warning


def test_the_report_of_a_program_that_does_not_fit_has_its_largest_buffers() -> None:
    assert not list(unfitting(REPORT.backends[0]))
    (warning,) = unfitting(replace(REPORT.backends[0], fits=False))
    assert warning == (
        "the program does not fit h200: it needs 32.6 KiB. The largest buffers: "
        "30.6 KiB float32[784,10] of the argument params['w']"
    )


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 99}', '{"schema_version": 4}'])
def test_a_file_that_is_no_report_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ArtifactError, match="report"):
        read_report(tmp_path)


def test_the_text_has_every_figure() -> None:
    text = render_text(REPORT)
    for part in (
        "mlp  (mlp:forward)",
        "train=False",
        "params['w']",
        "float32[784,10]",
        "int8[]  donated",
        "2 add, 1 call",
        "12.3 ms",
        "1.58 s, of which XLA 1.25 s",
        "300 MiB",
        "optimize        fast-build",
        "repeated        107 equations x 11, kept as block_1 (gpt.py:12-40, nn/x.py:3)",
        "gpu (h200)",
        "3.00 G",
        "1.43 MiB",
        "in products and convolutions 2.00 G of float32",
        "2e+03 flops per byte",
        "peak memory     32.2 KiB",
        "temporaries 2.00 KiB",
        "estimated time  2.00 us on h200, an estimate",
        "fits            h200: yes",
        "XLA's figures   flops 2.00 G, bytes accessed 977 KiB, temporary 2.00 KiB",
        "program.olympuspr",
        "warning: a loop",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 110


def test_long_lists_are_shortened() -> None:
    arguments = tuple(arg_info(f"p[{i}]", "int8", ()) for i in range(30))
    text = render_text(replace(REPORT, arguments=arguments))
    assert "p[11]" in text
    assert "p[12]" not in text
    assert "... and 18 more" in text


def test_each_operation_is_counted_once() -> None:
    text = """
    func.func public @main(%arg0: tensor<8xf32>) -> (tensor<f32> {a = "= stablehlo.sine"}) {
      %cst = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.add %arg0, %arg0 : tensor<8xf32>
      %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : t
      %2:2 = "stablehlo.sort"(%0, %0) <{dimension = 0 : i64}> ({
        stablehlo.return %5 : tensor<i1>
      }) : (tensor<8xf32>) -> tensor<8xf32>
      %3 = call @f(%1) : (tensor<f32>) -> tensor<f32>
      %4 = func.call @f(%1) : (tensor<f32>) -> tensor<f32>
      %5 = chlo.erf %0 : tensor<8xf32> -> tensor<8xf32>
      return %3 : tensor<f32>
    }"""
    assert operation_counts(text) == {
        "call": 2,
        "chlo.erf": 1,
        "stablehlo.add": 1,
        "stablehlo.constant": 1,
        "stablehlo.reduce": 1,
        "stablehlo.sort": 1,
    }


def test_instructions_of_every_type_are_counted() -> None:
    text = """HloModule m, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, s32[])}

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %t.1 = f32[8]{0:T(8,128)} tanh(%p), metadata={op_name="jit(f)/x = y add(z)"}
}

ENTRY %main (x: f32[8]) -> (f32[8], s32[]) {
  %x = f32[8]{0} parameter(0)
  %fusion = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused
  %c = s32[] custom-call(%x), custom_call_target="f"
  %w = (f32[8]{0}, /*index=1*/s32[]) while(%t), condition=%c, body=%b
  %s = (f32[8]{0}, s32[]) sort(%x), dimensions={0}
  ROOT %r = (f32[8]{0}, s32[]) tuple(%fusion, %c)
}
"""
    assert instruction_counts(text) == {
        "custom-call": 1,
        "fusion": 1,
        "sort": 1,
        "tanh": 1,
        "while": 1,
    }


def test_units() -> None:
    assert [duration(t) for t in (0.0, 2.5e-9, 1.5e-6, 0.0999, 1.0, 123.4)] == [
        "0.00 ns",
        "2.50 ns",
        "1.50 us",
        "99.9 ms",
        "1.00 s",
        "123 s",
    ]
    assert [byte_size(n) for n in (0, 1023, 1024, 3 * 2**30)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "3.00 GiB",
    ]
    assert [count(n) for n in (0, 999, 1e3, 2.5e12)] == ["0", "999", "1.00 k", "2.50 T"]
    assert duration(None) == byte_size(None) == count(None) == "unknown"


def test_the_report_of_a_build_matches_the_schema(folder: Path, invoke: Invoke) -> None:
    (folder / "m.py").write_text("def f(x, n):\n    return (x * n) @ x\n")
    (folder / "olympus.toml").write_text(
        '[target.f]\nentry = "m:f"\nargs = { x = "f32[4,4]" }\nstatic = { n = 3 }\n'
    )
    assert invoke("build").exit_code == 0
    path = folder / "build" / "f" / "report.json"
    check(json.loads(path.read_text()))
    report = read_report(path.parent)
    (backend,) = report.backends
    assert report.statics == {"n": "3"}
    assert report.ops["stablehlo.dot_general"] == 1
    assert backend.cost.flops == 2 * 4**3 + 4 * 4
    assert backend.cost.matmul_flops == {"float32": 2 * 4**3}
    assert [row.key for row in backend.cost.lines] == ["m.py:2"]
    assert backend.memory.arguments == backend.xla.memory.argument_size_in_bytes == 64
    assert backend.memory.peak >= 2 * 64
    assert 0 < backend.xla_seconds <= backend.compile_seconds <= report.seconds.compile
    assert report.seconds.total == pytest.approx(sum(asdict(report.seconds).values()))
    assert all(spent > 0 for spent in asdict(report.seconds).values())
    assert report.peak_memory is not None
    assert report.peak_memory > 2**25
    for output in report.outputs:
        assert (path.parent / output.path).stat().st_size == output.bytes
    *outputs, summary = report.outputs
    assert summary.path == "summary.txt"
    listed = replace(report, outputs=tuple(outputs))
    assert (path.parent / "summary.txt").read_text() == render_text(listed)


@pytest.mark.parametrize("dtype", ["float33", "O", "f4,i4", 3])
def test_a_report_with_an_unknown_dtype_is_an_error(dtype: object) -> None:
    data = REPORT.to_data()
    data["arguments"][0]["dtype"] = dtype
    with pytest.raises(ValueError, match=r"arguments\[0\]\.dtype is not"):
        Report.from_data(data)


def test_a_report_has_the_names_and_sizes_of_arrays() -> None:
    data = REPORT.to_data()
    assert data["arguments"][1] == {
        "name": "x", "dtype": "int8", "shape": [], "bytes": 1, "donated": True
    }  # fmt: skip
    assert Report.from_data(data).to_data() == data
