"""The compiler gets only options of one table, with valid values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import olympus
from olympus import lax
from olympus.errors import CompileError, UsageError
from olympus.stages import Optimize, checked_options, optimize_options
from olympus_core.xla.runtime.devices import devices
from olympus_core.xla.runtime.invocation import compile_options
from olympus_core.xla.targets.options import ALLOWED

FORBIDDEN = [
    "xla_dump_to",
    "xla_gpu_dump_autotune_results_to",
    "xla_gpu_load_autotune_results_from",
    "xla_gpu_kernel_cache_file",
    "xla_gpu_cuda_data_dir",
    "xla_gpu_ptx_compiler_extra_flags",
    "xla_backend_extra_options",
    "xla_disable_hlo_passes",
    "xla_flags_reset",
    "xla_hlo_profile",
    "xla_gpu_print_compilation_stats",
]


def lowered() -> Any:
    return olympus.jit(lax.tanh).trace(olympus.ShapeDtypeStruct((4,), "float32")).lower()


@pytest.mark.parametrize("name", ALLOWED)
def test_the_compiler_takes_every_option_of_the_table(name: str) -> None:
    for value in ALLOWED[name].values:
        compiled = lowered().compile({name: value})
        assert compiled.as_text().startswith("HloModule jit_tanh")


@pytest.mark.parametrize("name", FORBIDDEN)
def test_an_option_with_effects_outside_the_compiler_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is not a compiler option that a program may"):
        lowered().compile({name: str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "needs"),
    [
        ("xla_cpu_parallel_codegen_split_count", -1, "an integer from 1 to 1024, got -1"),
        ("xla_cpu_parallel_codegen_split_count", 10**30, "an integer from 1 to 1024, got 10000"),
        ("xla_cpu_parallel_codegen_split_count", 1.5, "an integer from 1 to 1024, got 1.5"),
        ("xla_cpu_parallel_codegen_split_count", True, "an integer from 1 to 1024, got True"),
        ("xla_cpu_parallel_codegen_split_count", "x", "an integer from 1 to 1024, got 'x'"),
        ("xla_backend_optimization_level", 4, "an integer from 0 to 3, got 4"),
        ("optimization_level", "O4", "one of UNKNOWN, O0, O1, O2, O3, got 'O4'"),
        ("memory_fitting_level", 1, "one of UNKNOWN, O0, O1, O2, O3, got 1"),
        ("xla_cpu_enable_fast_math", 1, "true or false, got 1"),
        ("xla_cpu_enable_fast_math", None, "true or false, got None"),
        ("xla_cpu_max_isa", "../x", "one of SSE4_2, AVX, .*, got '../x'"),
    ],
)
def test_a_value_out_of_range_is_refused(name: str, value: Any, needs: str) -> None:
    with pytest.raises(UsageError, match=f"compiler option '{name}' needs {needs}"):
        lowered().compile({name: value})


def test_text_is_converted_to_the_type_of_the_option() -> None:
    options = {"xla_cpu_enable_fast_math": "True", "xla_backend_optimization_level": "2"}
    values = {"xla_cpu_enable_fast_math": True, "xla_backend_optimization_level": 2}
    assert checked_options(options) == values
    assert checked_options(None) == {}


@pytest.mark.parametrize("level", ["O1", 19, olympus.CompilerEffortLevel.O1])
def test_an_effort_is_an_option_of_the_compilation(level: Any) -> None:
    options = checked_options({"optimization_level": level, "memory_fitting_level": "O2"})
    assert options == {"optimization_level": 19, "memory_fitting_level": 29}
    build = compile_options(devices("cpu")[:1], options).executable_build_options
    assert (build.optimization_level, build.memory_fitting_level) == (19, 29)
    function = olympus.jit(lax.tanh, compiler_options={"optimization_level": level})
    assert float(function(0.0)) == 0.0


def test_the_nearest_name_is_the_hint() -> None:
    with pytest.raises(UsageError) as caught:
        lowered().compile({"xla_cpu_enable_fastmath": True})
    assert caught.value.hint is not None
    assert "'xla_cpu_enable_fast_math'" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        lowered().compile({"xla_dump_to": "/"})
    assert "did you mean" not in str(caught.value.hint)  # no name is near except for the prefix


@pytest.mark.parametrize("options", [["xla_cpu_enable_fast_math"], "xla_cpu_max_isa", 3])
def test_options_that_are_not_a_dict_are_refused(options: Any) -> None:
    with pytest.raises(UsageError, match="compiler options must be a dict, and are"):
        lowered().compile(options)
    with pytest.raises(UsageError, match="compiler options must be a dict, and are"):
        olympus.jit(lax.tanh, compiler_options=options)


def compiled_with(
    monkeypatch: pytest.MonkeyPatch, stage: Any, *args: Any, **keywords: Any
) -> dict[str, Any]:
    """Return the options that the compiler gets when `stage` is compiled."""
    received: dict[str, Any] = {}

    def compiling(
        _program: bytes, _target: olympus.Target, options: Mapping[str, Any], *_rest: object
    ) -> Any:
        received.update(options)
        raise CompileError("the options are known")

    monkeypatch.setattr("olympus_core.xla.runtime.compiler._compile_and_load", compiling)
    with pytest.raises(CompileError, match="are known"):
        stage.compile(*args, **keywords)
    return received


def test_explicit_options_override_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    level = "xla_backend_optimization_level"
    profile = optimize_options("fast-build", olympus.Target("cpu"))
    assert profile == {level: 0}
    assert level not in compiled_with(monkeypatch, lowered())
    fast = compiled_with(monkeypatch, lowered(), optimize="fast-build")
    assert fast.items() >= profile.items()
    explicit = compiled_with(monkeypatch, lowered(), {level: 2}, optimize="fast-build")
    assert explicit[level] == 2
    x = olympus.ShapeDtypeStruct((4,), "float32")
    lowered_by_jit = olympus.jit(lax.tanh, compiler_options={level: 1}).lower(x)
    assert compiled_with(monkeypatch, lowered_by_jit, optimize="fast-build")[level] == 1


@pytest.mark.parametrize("profile", get_args(Optimize))
@pytest.mark.parametrize("target", [olympus.Target("cpu"), olympus.target("gpu", "h200")])
def test_a_profile_has_options_of_the_table(profile: Optimize, target: olympus.Target) -> None:
    options = optimize_options(profile, target)
    assert checked_options(options) == options
    assert bool(options) == (target.backend == "gpu" or profile != "default")


@pytest.mark.parametrize("profile", ["fastbuild", None, ["default"]])
def test_an_unknown_profile_is_refused(profile: Any) -> None:
    with pytest.raises(UsageError, match="the profiles are default and fast-build") as caught:
        lowered().compile(optimize=profile)
    assert (caught.value.hint is not None) == (profile is not None)


def test_an_option_that_jaxlib_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    option = ALLOWED["xla_cpu_enable_fast_math"]
    monkeypatch.setattr("olympus_core.xla.targets.options.ALLOWED", {"xla_no_such": option})
    with pytest.raises(UsageError, match="No such compile option: 'xla_no_such'") as caught:
        lowered().compile({"xla_no_such": True})
    assert "does not have it" in (caught.value.hint or "")


def test_the_gpu_compiler_takes_the_options_for_gpus() -> None:
    gpu = {status.name: status for status in olympus.backends()}["gpu"]
    program = olympus.jit(lax.tanh).trace(olympus.ShapeDtypeStruct((4,), "float32"))
    lowered = program.lower(olympus.target("gpu"))
    refused = []
    for name in [name for name in ALLOWED if name.startswith("xla_gpu_") and gpu.available]:
        for value in ALLOWED[name].values:
            try:
                lowered.compile({name: value})
            except (CompileError, UsageError) as error:
                refused.append((name, value, str(error)))
    assert refused == []


def test_the_document_lists_the_options() -> None:
    document = Path(__file__).parents[3] / "docs" / "reference" / "bundle.md"
    text = document.read_text(encoding="utf-8")
    section = text.partition("## Compiler options\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \|$", section, re.MULTILINE)
    documented = {name: needs for names, needs in rows for name in re.findall(r"`(\w+)`", names)}
    assert documented == {name: option.needs for name, option in ALLOWED.items()}
