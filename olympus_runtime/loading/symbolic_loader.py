"""The programs of a bundle with symbolic sizes: those in it, and those compiled here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from olympus_bundle.bundle_file import BundleFile, program_manifest, read_member
from olympus_bundle.errors import ArtifactError
from olympus_bundle.host import Host
from olympus_bundle.host_functions import bound_functions
from olympus_bundle.symbolic.manifest import SymbolicManifest, part_name, sizes_text
from olympus_runtime.bindings import JAXLIB_VERSION, JaxRuntimeError
from olympus_runtime.cpu import cpu_client
from olympus_runtime.executable import compile_program, load_executable
from olympus_runtime.loading import result_store
from olympus_runtime.loading.fixed_loader import FixedLoader, Options
from olympus_runtime.loading.program import Program


class SymbolicLoader:
    """The programs of a bundle with symbolic sizes: those in it, and those compiled here."""

    def __init__(self, file: BundleFile, manifest: SymbolicManifest, options: Options) -> None:
        self.file, self.manifest, self.options = file, manifest, options
        self.first = read_member(file, part_name(manifest.sizes[0]))
        declared = program_manifest(self.first).callbacks
        self.functions = bound_functions(file.path, declared, options.callbacks)

    def program(self, sizes: Mapping[str, int]) -> Program:
        """Return the program for sizes: of the bundle, of the user's store, or compiled."""
        if (name := part_name(sizes)) in self.file.members:
            part = read_member(self.file, name)
            return FixedLoader(part, self.options).program()
        if not self.options.recompile:
            compiled = " and ".join(map(sizes_text, self.manifest.sizes))
            raise ArtifactError(
                f"{self.file.path} has no executable for {sizes_text(sizes)}, and only for "
                f"{compiled}",
                hint="its program can be compiled for other sizes: allow recompiling",
            )
        if self.options.backend not in (None, "cpu") or "cpu" not in self.manifest.programs:
            programs = ", ".join(self.manifest.programs)
            raise ArtifactError(
                f"{self.file.path} has no executable for {sizes_text(sizes)}, and olympus_runtime "
                f"compiles only for the CPU (it was lowered for {programs})",
                hint="build a bundle with the key `at` for these sizes",
            )
        return self._refined(sizes)

    def _refined(self, sizes: Mapping[str, int]) -> Program:
        member = self.manifest.programs["cpu"]
        first = program_manifest(self.first)
        options = sorted(first.compiler_options.items())
        digest = self.manifest.members[member].sha256
        key = result_store.key_of(digest, sorted(sizes.items()), options, *_compiler_facts())
        raw = None
        if (content := result_store.read(key)) is not None:
            with suppress(ArtifactError):  # jaxlib's own bytes are damaged
                raw = load_executable(content, cpu_client(), self.functions)
        if raw is None:
            raw = self._compiled(sizes, self.file.members[member], options)
            with suppress(JaxRuntimeError):  # XLA cannot write some executables
                result_store.write(key, bytes(raw.serialize()))
        signature = self.manifest.signature_at(first.signature, sizes)
        constants = self.manifest.constants
        static = replace(first, signature=signature, executables=(), constants=constants)
        return FixedLoader(replace(self.first, manifest=static), self.options).compiled(raw)

    def _compiled(
        self, sizes: Mapping[str, int], program: bytes, options: list[tuple[str, Any]]
    ) -> Any:
        from olympus_runtime.loading.refining import refined_program  # it loads MLIR

        count = len(self.manifest.constants.get("cpu", ()))
        dynamic = {
            i: x.at(sizes)
            for i, x in enumerate(self.manifest.arguments, count)
            if any(not isinstance(n, int) for n in x.shape)
        }
        refined = refined_program(program, dynamic)
        return compile_program(refined, cpu_client(), options, self.functions)


def _compiler_facts() -> tuple[object, ...]:
    """Return the properties of this process that a compilation for the CPU depends on."""
    host, flags = Host.here(), os.environ.get("XLA_FLAGS", "")
    return JAXLIB_VERSION, host.system, host.machine, host.cpu_features, flags, os.cpu_count()
