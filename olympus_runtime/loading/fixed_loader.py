"""The choice of the program for this machine in a bundle of fixed sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

from olympus_bundle.bundle_file import BundleFile, program_manifest
from olympus_bundle.constants import constants_of
from olympus_bundle.errors import ArtifactError, BackendError
from olympus_bundle.host import COMPILERS, Host
from olympus_bundle.host_functions import Functions, bound_functions
from olympus_bundle.manifest import Manifest, StoredExecutable
from olympus_runtime.bindings import JAXLIB_VERSION
from olympus_runtime.cpu import cpu_client
from olympus_runtime.executable import RunningProgram, compile_program, load_executable
from olympus_runtime.loading.program import Program

_PREFERRED = ("tpu", "gpu", "cpu")
_RECOMPILE = "it can be compiled again from the StableHLO in the bundle: allow recompiling"


class Options(NamedTuple):
    """The options of `load` that choose the program."""

    backend: str | None
    native: bool
    recompile: bool
    callbacks: Functions | None


class FixedLoader:
    """The choice of the program for this machine among those of a bundle."""

    def __init__(self, file: BundleFile, options: Options) -> None:
        self.file, self.options = file, options
        self.manifest = program_manifest(file)
        self.functions = bound_functions(file.path, self.manifest.callbacks, options.callbacks)
        if self.manifest.placement is not None:
            raise ArtifactError(
                f"{file.path} is for several devices, and olympus_runtime runs programs of one",
                hint="load it with olympus.artifact.load",
            )
        self.misfits: list[str] = []

    def program(self) -> Program:
        """Return the program of the first executable that fits, or compile it for the CPU."""
        found = self._fitting() if self.options.native else None
        if found is not None:
            return found
        path, manifest = self.file.path, self.manifest
        if not self.options.recompile or self.options.backend not in (None, "cpu"):
            raise ArtifactError(self._reason(), hint=None if self.options.recompile else _RECOMPILE)
        if "cpu" not in manifest.programs or manifest.compiler_options:
            lacks = "has no program for cpu" if "cpu" not in manifest.programs else "sets options"
            raise ArtifactError(
                f"{self._reason()}, and olympus_runtime cannot compile it: it {lacks}",
                hint=f"compile it with olympus.artifact.load({str(path)!r}).compiled()",
            )
        content = self.file.members[manifest.programs["cpu"]]
        raw = compile_program(content, cpu_client(), functions=self.functions)
        return self.compiled(raw)

    def compiled(self, raw: Any) -> Program:
        """Return the program of an executable that was compiled here for the CPU."""
        return self._program(raw, "cpu", None)

    def _fitting(self) -> Program | None:
        """Return the program of the first executable that fits, accelerators first, or None."""
        names = [name for name in _PREFERRED if self.options.backend in (None, name)]
        executables = self.manifest.executables
        for stored in [e for name in names for e in executables if e.backend == name]:
            reason = _misfit(stored, self.manifest)
            if reason is None:
                try:
                    content = self.file.members[stored.member]
                    raw = load_executable(content, _client(stored.backend), self.functions)
                except (ArtifactError, BackendError) as exc:
                    reason = str(exc)
                else:
                    return self._program(raw, stored.backend, stored)
            self.misfits.append(f"{_label(stored)}: {reason}")
        return None

    def _program(self, raw: Any, backend: str, stored: StoredExecutable | None) -> Program:
        try:
            has_effects, signature = self.functions.has_effects, self.manifest.signature
            constants = constants_of(self.file, backend)
            run = RunningProgram(raw, signature, constants, has_effects=has_effects)
        except ArtifactError as exc:
            raise ArtifactError(f"{self.file.path} cannot be used: {exc}") from exc
        return Program(self.file, run, backend, stored)

    def _reason(self) -> str:
        """Return the reason why no executable is loaded, with the ones in the bundle."""
        path = self.file.path
        if not self.options.native:
            return f"the executables in {path} are native code, and it was loaded with native=False"
        if self.misfits:
            return f"{path} has no executable that fits this machine ({'; '.join(self.misfits)})"
        contents = ", ".join(map(_label, self.manifest.executables)) or "none"
        wanted = self.options.backend or "any device"
        return f"{path} has no executable for {wanted} (it has: {contents})"


def _label(stored: StoredExecutable) -> str:
    return " ".join(filter(None, (stored.backend, stored.device)))


def _client(backend: str) -> Any:
    if backend == "cpu":
        return cpu_client()
    from olympus_runtime.loading.accelerators import accelerator_client  # few machines have one

    return accelerator_client(backend)


def _misfit(stored: StoredExecutable, manifest: Manifest) -> str | None:
    """Return the reason why an executable cannot run on this machine; None if it can."""
    versions = {"jaxlib": JAXLIB_VERSION}
    if stored.backend != "cpu":
        from olympus_runtime.loading.accelerators import installed_version, is_attached

        if not is_attached(stored.backend):
            return f"this machine has no {stored.backend.upper()}"
        for package in COMPILERS[stored.backend][1:]:
            if (version := installed_version(package)) is not None:
                versions[package] = version
    misfits = stored.host.misfits(stored.backend, manifest.versions, Host.here(), versions)
    return next(misfits, None)
