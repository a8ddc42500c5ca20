"""The compiler options that a program may set: one table, with the valid values of each.

Another table has the profiles, which are named sets of options.

The options come from a user, an `olympus.toml` or a bundle. The table has options that change how a
program is compiled. It excludes an option that reads or writes files, loads a library, prints, or
can end the process, because a bundle may come from anybody. `XLA_FLAGS` of the environment, which
is the user's own, takes any option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

from olympus_core.base.errors import UnknownNameError, UsageError
from olympus_core.xla.messages import nearest
from olympus_core.xla.targets.effort import CompilerEffortLevel
from olympus_core.xla.targets.targets import Target

Options = Mapping[str, str | int | bool | float]

#: options of a compilation, which are not debug options of XLA
BUILD_OPTIONS = (
    "memory_fitting_level",
    "optimization_level",
)

#: The goal of the compiler's work: a fast program, or a short compilation.
Optimize = Literal["default", "fast-build"]


@dataclass(frozen=True)
class Flag:
    """True or false, also as the text "true" or "false"."""

    values = (False, True)
    needs = "true or false"

    def read(self, value: object) -> bool | None:
        """Return the value; None if it is not valid."""
        if isinstance(value, str):
            return {"true": True, "false": False}.get(value.lower())
        return value if isinstance(value, bool) else None


@dataclass(frozen=True)
class Integer:
    """An integer from `low` to `high`, also as text."""

    low: int
    high: int

    @property
    def values(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        return self.low, self.high

    @property
    def needs(self) -> str:
        """The description of a valid value."""
        return f"an integer from {self.low} to {self.high}"

    def read(self, value: object) -> int | None:
        """Return the value; None if it is not valid."""
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if self.low <= value <= self.high else None


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    values: tuple[str, ...]

    @property
    def needs(self) -> str:
        """The description of a valid value."""
        return f"one of {', '.join(self.values)}"

    def read(self, value: object) -> str | None:
        """Return the value; None if it is not valid."""
        return value if isinstance(value, str) and value in self.values else None


@dataclass(frozen=True)
class Level:
    """A `CompilerEffortLevel`, its name or its number."""

    values = tuple(level.value for level in CompilerEffortLevel)
    needs = f"one of {', '.join(level.name for level in CompilerEffortLevel)}"

    def read(self, value: object) -> int | None:
        """Return the number of the level; None if it is not valid."""
        try:
            return CompilerEffortLevel(value).value
        except ValueError:
            return None


_FLAG = Flag()
_BYTES = Integer(0, 2**62)
_ISA = ("SSE4_2", "AVX", "AVX2", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AVX512_FP16", "AMX")

_FLAGS = """
xla_allow_excess_precision
xla_embed_ir_in_executable
xla_llvm_disable_expensive_passes
xla_llvm_enable_alias_scope_metadata
xla_llvm_enable_invariant_load_metadata
xla_llvm_enable_noalias_metadata
xla_cpu_copy_insertion_use_region_analysis
xla_cpu_enable_concurrency_optimized_scheduler
xla_cpu_enable_fast_math
xla_cpu_enable_fast_min_max
xla_cpu_enable_platform_dependent_math
xla_cpu_fast_math_honor_division
xla_cpu_fast_math_honor_functions
xla_cpu_fast_math_honor_infs
xla_cpu_fast_math_honor_nans
xla_cpu_multi_thread_eigen
xla_cpu_strict_dot_conv_math
xla_gpu_collect_cost_model_stats
xla_gpu_cublas_fallback
xla_gpu_default_to_alg_dot_bf16_bf16_f32
xla_gpu_deterministic_ops
xla_gpu_enable_analytical_latency_estimator
xla_gpu_enable_cub_radix_sort
xla_gpu_enable_cublaslt
xla_gpu_enable_cudnn_layer_norm
xla_gpu_enable_dynamic_slice_fusion
xla_gpu_enable_fast_min_max
xla_gpu_enable_highest_priority_async_stream
xla_gpu_enable_latency_hiding_scheduler
xla_gpu_enable_triton_gemm
xla_gpu_enable_while_loop_double_buffering
xla_gpu_exclude_nondeterministic_ops
xla_gpu_exhaustive_tiling_search
xla_gpu_force_conv_nchw
xla_gpu_force_conv_nhwc
xla_gpu_ftz
xla_gpu_generate_line_info
xla_gpu_triton_gemm_any
xla_gpu_use_runtime_fusion
""".split()  # noqa: SIM905  (a line for each)

#: Every option that a program may set, and its valid values; all supported versions of jaxlib
#: have them.
ALLOWED: Mapping[str, Flag | Integer | Choice | Level] = {
    **dict.fromkeys(_FLAGS, _FLAG),
    "memory_fitting_level": Level(),
    "optimization_level": Level(),
    "xla_backend_optimization_level": Integer(0, 3),
    "xla_cpu_max_isa": Choice(_ISA),
    "xla_cpu_parallel_codegen_split_count": Integer(1, 1024),
    "xla_cpu_prefer_vector_width": Integer(64, 512),
    "xla_gpu_all_gather_combine_threshold_bytes": _BYTES,
    "xla_gpu_all_reduce_combine_threshold_bytes": _BYTES,
    "xla_gpu_autotune_level": Integer(0, 5),
    "xla_gpu_dot_merger_threshold_mb": Integer(0, 2**20),
    "xla_gpu_gemm_rewrite_size_threshold": _BYTES,
    "xla_gpu_graph_min_graph_size": Integer(1, 2**20),
    "xla_gpu_memory_limit_slop_factor": Integer(1, 1000),
    "xla_gpu_reduce_scatter_combine_threshold_bytes": _BYTES,
}


#: For products, XLA generates kernels by Triton, whose tiles it finds by trials on the GPU. Without
#: trials they take 2 to 76 times as long as cuBLAS's; those take as long as with trials (H100).
_CUBLAS: Options = {"xla_gpu_enable_triton_gemm": False}
#: The options of each profile, by backend.  docs/reference/olympus-toml.md and docs/how-to/gpu.md
#: have what they gain.
_PROFILES: Mapping[str, Mapping[str, Options]] = {
    "default": {"gpu": _CUBLAS},
    "fast-build": {"cpu": {"xla_backend_optimization_level": 0}, "gpu": _CUBLAS},
}


def optimize_options(optimize: Optimize, target: Target) -> Options:
    """Return the compiler options that the profile `optimize` sets for a target, maybe none.

    "default" sets those without which a GPU program is slow. "fast-build" shortens the
    compilation for the CPU, and may give a slower program.

    Raises:
      UsageError: no profile has this name.

    Example:
      >>> optimize_options("fast-build", Target("cpu"))
      {'xla_backend_optimization_level': 0}
    """
    if optimize not in get_args(Optimize):
        raise UsageError(
            f"no profile is named {optimize!r:.80}; the profiles are {' and '.join(_PROFILES)}",
            hint=nearest(str(optimize), _PROFILES),
        )
    return dict(_PROFILES[optimize].get(target.backend, {}))


def named_options(options: Mapping[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    """Return the options with their values, in the order of their names, not checked; () for None.

    Raises:
      UsageError: `options` is not a dict.
    """
    if not isinstance(options, Mapping | None):
        raise UsageError(f"compiler options must be a dict, and are {options!r:.80}")
    return tuple(sorted((options or {}).items(), key=lambda item: str(item[0])))


def checked_options(options: Mapping[str, Any] | None) -> dict[str, str | int | bool | float]:
    """Return the options, each in the table and with a valid value; {} for None.

    Raises:
      UsageError: `options` is not a dict; an option is not in the table (the hint has the nearest
        name); or its value has another type or is out of range.

    Example:
      >>> checked_options({"xla_cpu_enable_fast_math": "true"})
      {'xla_cpu_enable_fast_math': True}
    """
    checked: dict[str, str | int | bool | float] = {}
    for name, value in named_options(options):
        if name not in ALLOWED:
            _refuse(name)
        read = ALLOWED[name].read(value)
        if read is None:
            raise UsageError(
                f"compiler option {name!r} needs {ALLOWED[name].needs}, got {value!r:.80}"
            )
        checked[name] = read
    return checked


def _refuse(name: object) -> NoReturn:
    anything = "XLA_FLAGS of the environment takes any option of XLA"
    # without the prefix, which would make any two of these names similar
    full_names = {option.removeprefix("xla_"): option for option in ALLOWED}
    near = nearest(str(name).removeprefix("xla_"), full_names, full_names.__getitem__)
    raise UnknownNameError(
        f"No such compile option: {name!r:.120} is not a compiler option that a program may set",
        hint=f"{near} {anything}" if near else f"docs/reference/bundle.md lists them; {anything}",
    )
