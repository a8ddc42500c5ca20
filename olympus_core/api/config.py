"""`config`: the options of the whole process, under the names that programs use."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import Any

from olympus_core.api import flags
from olympus_core.base.context import SWITCHES, checked, set_process, state
from olympus_core.base.errors import ConfigError, OlympusWarning
from olympus_core.primitives.precision import parsed_precision
from olympus_core.xla.messages import nearest
from olympus_core.xla.runtime.collection_guard import guard_process

#: Options that programs set for JAX, without a meaning in OLYMPUS.
_WITHOUT_MEANING = frozenset(
    [
        "accurate_erf_inv",
        "array",
        "backend_target",
        "bcoo_cusparse_lowering",
        "captured_constants_report_frames",
        "captured_constants_warn_bytes",
        "check_proxy_envs",
        "check_static_indices",
        "check_vma",
        "compilation_cache_check_contents",
        "compilation_cache_dir",
        "compilation_cache_expect_pgle",
        "compilation_cache_include_metadata_in_key",
        "compilation_cache_max_size",
        "compiler_detailed_logging_min_ops",
        "compiler_enable_remat_pass",
        "coordination_service",
        "cpu_collectives_implementation",
        "cpu_enable_async_dispatch",
        "cpu_enable_gloo_collectives",
        "cpu_get_global_topology_timeout_minutes",
        "cpu_get_local_topology_timeout_minutes",
        "cross_host_transfer_socket_address",
        "cross_host_transfer_timeout_seconds",
        "cross_host_transfer_transfer_size",
        "cross_host_transport_addresses",
        "cuda_visible_devices",
        "custom_jvp3",
        "custom_vjp3",
        "debug_key_reuse",
        "debug_leaked_clients_on_clear_backends",
        "debug_log_modules",
        "default_dtype_bits",
        "disable_bwd_checks",
        "disable_most_optimizations",
        "disable_vmap_shmap_error",
        "disallow_mesh_context_manager",
        "distributed_debug",
        "distributed_initialization_timeout_seconds",
        "distributed_verify_secure_credentials",
        "dump_ir_modes",
        "dump_ir_to",
        "dynamic_shapes",
        "eager_constant_folding",
        "eager_pmap",
        "embedded_constants_max_bytes",
        "enable_compilation_cache",
        "enable_empty_arrays",
        "enable_memories",
        "enable_pgle",
        "enable_preemption_service",
        "enable_recoverability",
        "error_checking_behavior_divide",
        "error_checking_behavior_nan",
        "error_checking_behavior_oob",
        "exec_time_optimization_effort",
        "experimental_name_stack",
        "experimental_unsafe_xla_runtime_errors",
        "explicit_x64_dtypes",
        "export_calling_convention_version",
        "export_deserialize_expired_versions",
        "export_ignore_forward_compatibility",
        "force_dcn_cross_host_transfers",
        "high_dynamic_range_gumbel",
        "hlo_source_file_canonicalization_regex",
        "host_callback_ad_transforms",
        "include_debug_info_in_dumps",
        "jax2tf_associative_scan_reductions",
        "jax2tf_default_native_serialization",
        "log_checkpoint_residuals",
        "logging_level",
        "memory_fitting_effort",
        "memory_fitting_level",
        "mock_gpu_topology",
        "mock_num_gpus",
        "mosaic_allow_hlo",
        "mosaic_unzip_debug_locations",
        "mtls_ca_file",
        "mtls_cert_file",
        "mtls_key_file",
        "mtls_peer_uri_prefix",
        "mutable_array_checks",
        "new_checkpoint",
        "num_cpu_devices",
        "oneapi_visible_devices",
        "optimization_level",
        "pallas_auto_assign_collective_ids",
        "pallas_auto_assign_collective_ids_limit",
        "pallas_enable_debug_checks",
        "pallas_poison_buffers",
        "pallas_use_mosaic_gpu",
        "pallas_verbose_errors",
        "parallel_functions_output_gda",
        "persistent_cache_enable_xla_caches",
        "persistent_cache_min_compile_time_secs",
        "persistent_cache_min_entry_size_bytes",
        "pgle_aggregation_percentile",
        "pgle_profiling_runs",
        "pjrt_client_create_options",
        "platform_name",
        "platforms",
        "pmap_no_rank_reduction",
        "pmap_shmap_merge",
        "pprint_use_color",
        "ragged_dot_use_gpu_pallas_triton_lowering",
        "ragged_dot_use_ragged_dot_instruction",
        "raise_on_ppermute_sort_diff",
        "raise_persistent_cache_errors",
        "random_seed_offset",
        "refs_to_pins",
        "remat3",
        "remat_barrier_no_cotangents",
        "remat_opt_barrier",
        "remove_custom_partitioning_ptr_from_cache_key",
        "rocm_visible_devices",
        "scan3",
        "send_traceback_to_runtime",
        "serialization_version",
        "share_autotune_config_between_hosts",
        "share_binary_between_hosts",
        "share_binary_between_hosts_timeout_ms",
        "sort_devices_by_process_index",
        "source_url_schema",
        "spmd_mode",
        "test_with_persistent_compilation_cache",
        "thread_guard",
        "threefry_gpu_kernel_lowering",
        "traceback_filtering",
        "traceback_in_locations_limit",
        "tracer_error_num_traceback_frames",
        "unique_mhlo_module_names",
        "transfer_guard",
        "use_cpp_shard_args",
        "use_direct_linearize",
        "use_emit_pipeline_primitive",
        "use_hlo_logistic_lowering",
        "use_magma",
        "use_rgv3",
        "use_shardy_partitioner",
        "use_simplified_jaxpr_constants",
        "xla_backend",
        "xla_profile_version",
    ]
)

#: An option whose value is not a switch.
_DEVICE = "default_device"
#: The values of these options that request the fixed behaviour of OLYMPUS.
_ANYWAY: dict[str, tuple[Any, ...]] = {
    "platform_name": ("", "cpu", None),
    "platforms": ("", "cpu", None),
}


class Config:
    """The options of the process, to set by `update` and to read as attributes.

    Each name may begin with `jax_`, `olympus_` or neither.  Within one of the contexts
    (`enable_x64` and its like), a thread has the context's value instead.
    """

    def __init__(self) -> None:
        self._unused: dict[str, Any] = {}
        self._warned: set[str] = set()

    def update(self, name: str, val: Any) -> None:
        """Set an option for all threads.

        An option of JAX without a meaning here is stored, with one OlympusWarning. Raises
        ConfigError (an AttributeError) with the nearest name for an unknown option, and
        ArgumentError (a ValueError) for an invalid value.

        >>> config.update("jax_enable_x64", True)
        """
        if str(name).removeprefix("jax_").removeprefix("olympus_") == "transfer_guard":
            for direction in ("device_to_device", "device_to_host", "host_to_device"):
                self.update(f"transfer_guard_{direction}", val)
            self._unused["transfer_guard"] = val
            return
        option = self._option(name)
        if option in SWITCHES:
            set_process(option, _checked(option, val))
            if option == "array_garbage_collection_guard":
                guard_process(val)
            return
        self._unused[option] = val
        if option == _DEVICE:
            from olympus_core.library.device import default_device_of  # few programs set it

            set_process(option, default_device_of(val))
            return
        if val not in _ANYWAY.get(option, ()) and option not in self._warned:
            self._warned.add(option)
            warnings.warn(
                f"config.update({name!r}, {val!r:.60}) has no effect: the option means nothing "
                "to OLYMPUS",
                OlympusWarning,
                stacklevel=2,
            )

    def read(self, name: str) -> Any:
        """Return the value of an option in this thread; raise ConfigError for an unknown name."""
        option = self._option(name)
        return getattr(state, option) if option in SWITCHES else self._unused.get(option)

    def config_with_absl(self) -> None:
        """Define the options as flags of absl, which `absl.app.run` parses.

        Raises ImportError if the package `absl-py` is not installed.

        >>> config.config_with_absl()
        >>> app.run(main)
        """
        flags.register(self._flags(), self.update)

    def parse_flags_with_absl(self) -> None:
        """Set the options that the command line has as flags, such as `--jax_enable_x64`.

        The flags are also defined for absl, if it is installed. Raises ConfigError for a value that
        an option cannot have.

        >>> config.parse_flags_with_absl()
        """
        with contextlib.suppress(ImportError):
            flags.register(self._flags(), self.update)
        flags.parse(sys.argv[1:], self._flags(), self.update)

    def _flags(self) -> dict[str, Any]:
        """Return every option, by the name of its flag, with its value in this thread."""
        return {
            f"jax_{name}": self.read(name)
            for name in (*SWITCHES, *sorted({*_WITHOUT_MEANING, _DEVICE}))
        }

    @property
    def values(self) -> dict[str, Any]:
        """Every option that has a meaning here, with its value in this thread."""
        return {f"jax_{name}": self.read(name) for name in SWITCHES}

    @property
    def x64_enabled(self) -> bool:
        """True if 64-bit dtypes are enabled in this thread."""
        return state.enable_x64

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.read(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            self.update(name, value)

    def _option(self, name: str) -> str:
        option = str(name).removeprefix("jax_").removeprefix("olympus_")
        if option not in SWITCHES and option not in {*_WITHOUT_MEANING, _DEVICE}:
            known = [f"jax_{switch}" for switch in SWITCHES]
            raise ConfigError(
                f"Unrecognized config option: {name}",
                hint=nearest(f"jax_{option}", known) or f"it has {', '.join(known)}",
            )
        return option


def _checked(option: str, value: Any) -> Any:
    if option == "default_matmul_precision":
        return parsed_precision(value)
    return checked(option, value)


config = Config()
