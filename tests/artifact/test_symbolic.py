"""Bundles with symbolic sizes: a size without a program is compiled once, and stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact, export
from olympus.errors import ArtifactError, UsageError
from olympus_bundle.errors import DataError
from olympus_bundle.symbolic.sizes import Expression, Sizes, SymbolicShape
from olympus_runtime.loading import symbolic_loader as loading
from tests.artifact.bundles import change_manifest, members_of, python, replace_member, struct

CONSTRAINTS = ("1 <= b <= 64", "b % 4 == 0", "d >= 2")
AT = {"b": 8, "d": 2}
RNG = np.random.default_rng(5)


def model(w: Any, x: Any) -> Any:
    y = jnp.tanh(x @ w)
    return {"mean": y.mean(0), "rows": jnp.concatenate([y, y])}


def traced() -> Any:
    b, d = export.symbolic_shape("b, d", constraints=CONSTRAINTS)
    types = olympus.ShapeDtypeStruct((4, 2 * d), "float32"), struct(b, 4)
    return olympus.jit(model).trace(*types)


def joined(folder: Path, **options: Any) -> Path:
    stage = traced()
    lowered = stage.lower()
    fixed = lowered.at_sizes(AT)
    artifact.save(
        folder / "at.olympus",
        fixed.compile(options.get("compiler_options")),
        lowered=fixed,
        olympuspr_text=str(stage.olympuspr),
        name="model",
        entry="m:model",
        **options,
    )
    artifact.join_symbolic(folder / "all.olympus", lowered, [(AT, folder / "at.olympus")])
    return folder / "all.olympus"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return joined(tmp_path_factory.mktemp("symbolic"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def path(bundle: Path, store: Path) -> Path:
    return bundle


def arguments(b: int, d: int) -> tuple[Any, Any]:
    w = RNG.standard_normal((4, 2 * d)).astype(np.float32)
    return w, RNG.standard_normal((b, 4)).astype(np.float32)


def check(program: Any, b: int, d: int) -> None:
    w, x = arguments(b, d)
    y = np.tanh(x @ w)
    got = program(w, x=x)
    np.testing.assert_allclose(got["mean"], y.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got["rows"], np.concatenate([y, y]), rtol=1e-5, atol=1e-6)


def refuse(*_args: Any) -> Any:
    raise AssertionError("it compiles")


def stored(store: Path) -> list[Path]:
    return sorted(store.rglob("*.refined"))


def test_a_call_may_have_any_sizes(path: Path, store: Path) -> None:
    program = olympus_runtime.load(path)
    assert isinstance(program, olympus_runtime.SymbolicProgram)
    assert repr(program) == f"<program 'model' of {path} for all sizes d, b>"
    check(program, 8, 2)
    assert not stored(store)  # the bundle has these
    for b, d in ((4, 2), (64, 3), (4, 2)):
        check(program, b, d)
    assert len(stored(store)) == 2
    assert program.part({"b": 64, "d": 3}).signature.arguments[1].shape == (64, 4)


def test_a_second_process_does_not_compile(
    path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(olympus_runtime.load(path), 16, 2)
    monkeypatch.setattr(loading, "compile_program", refuse)
    check(olympus_runtime.load(path), 16, 2)
    check(olympus_runtime.load(path, native=False), 16, 2)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    with pytest.raises(AssertionError, match="it compiles"):
        check(olympus_runtime.load(path), 16, 2)


@pytest.mark.parametrize("damage", [lambda x: x[:-9], lambda x: x[:200] + b"?" + x[201:], bytes(0)])
def test_a_damaged_result_is_compiled_again(path: Path, store: Path, damage: Any) -> None:
    check(olympus_runtime.load(path), 16, 2)
    (file,) = stored(store)
    whole = file.read_bytes()
    file.write_bytes(damage(whole) if callable(damage) else damage)
    check(olympus_runtime.load(path), 16, 2)
    assert len(file.read_bytes()) == len(whole) and stored(store) == [file]


def test_a_store_that_cannot_be_written_is_not_used(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for folder in (str(tmp_path / "file"), ""):
        monkeypatch.setenv("OLYMPUS_CACHE_DIR", folder)
        check(olympus_runtime.load(path), 4, 3)


def test_threads_share_a_program(path: Path) -> None:
    program = olympus_runtime.load(path)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for b in (8, 12, 20):
                check(program, b, 2)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_processes_share_the_store_and_load_mlir_only_to_compile(path: Path, store: Path) -> None:
    source = f"""
import sys
import numpy as np
import olympus_runtime
program = olympus_runtime.load({str(path)!r})
result = program(np.ones((4, 4), "float32"), np.ones(({{b}}, 4), "float32"))
loaded = sorted(m for m in sys.modules if m in ("jaxlib.mlir", "jax", "olympus_core"))
print(result["rows"].shape, *loaded)
"""
    outputs: list[str] = []

    def work(b: int) -> None:
        outputs.append(python(source.format(b=b), path.parent))

    threads = [threading.Thread(target=work, args=(24,)) for _ in range(2)]  # they may both compile
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 2 and "(48, 4) jaxlib.mlir\n" in outputs
    work(24)
    work(8)
    assert outputs[2:] == ["(48, 4)\n", "(16, 4)\n"]
    assert len(stored(store)) == 1 and not list(store.rglob(".new-*"))


@pytest.mark.parametrize(
    ("shapes", "fault"),
    [
        (((4, 4), (10, 4)), "the constraint b % 4 == 0 does not hold for b = 10"),
        (((4, 4), (68, 4)), "the constraint 1 <= b <= 64 does not hold for b = 68"),
        (((4, 2), (8, 4)), "the constraint d >= 2 does not hold for d = 1"),
        (((4, 4), (0, 4)), "b must be 1 or more, and is 0"),
        (((4, 5), (8, 4)), "axis 1 of 'w' has 5 elements, and needs 4 elements for d = 2, b = 8"),
        (((4, 4), (8, 5)), "axis 1 of 'x' has 5 elements, and needs 4 elements"),
        (((4, 4), (8,)), "'x' has 1 axes"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(path: Path, shapes: Any, fault: str) -> None:
    program = olympus_runtime.load(path)
    with pytest.raises(TypeError) as error:
        program(*[np.ones(shape, "float32") for shape in shapes])
    assert fault in str(error.value)
    assert "'x' takes [b,4] and got [" in str(error.value)


def test_arguments_of_another_dtype_are_refused(path: Path) -> None:
    with pytest.raises(TypeError, match=r"'x' compiled with float32\[8,4\] and called with int32"):
        olympus_runtime.load(path)(np.ones((4, 4), "float32"), np.ones((8, 4), "int32"))


def test_two_values_of_one_variable_are_refused(tmp_path: Path, store: Path) -> None:
    (b,) = export.symbolic_shape("b")
    lowered = olympus.jit(lambda x, y: x + y).trace(struct(b), struct(b)).lower()
    fixed = lowered.at_sizes({"b": 2})
    artifact.save(
        tmp_path / "2.olympus",
        fixed.compile(),
        lowered=fixed,
        olympuspr_text="",
        name="add",
        entry="m:add",
    )
    artifact.join_symbolic(tmp_path / "add.olympus", lowered, [({"b": 2}, tmp_path / "2.olympus")])
    program = olympus_runtime.load(tmp_path / "add.olympus")
    with pytest.raises(TypeError, match="axis 0 of 'y' has 4 elements, and needs 3 elements for b"):
        program(np.ones(3, "float32"), np.ones(4, "float32"))


def test_a_size_is_not_compiled_where_that_is_forbidden(path: Path) -> None:
    program = olympus_runtime.load(path, recompile=False)
    check(program, 8, 2)
    with pytest.raises(ArtifactError, match=r"has no executable for b=4, d=2, and only for b=8"):
        check(program, 4, 2)
    with pytest.raises(ArtifactError, match="olympus_runtime compiles only for the CPU"):
        check(olympus_runtime.load(path, "gpu"), 4, 2)


def test_the_options_of_the_compiler_are_used(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = joined(tmp_path, compiler_options={"xla_cpu_enable_fast_math": True})
    used: list[Any] = []
    compile_program = loading.compile_program

    def noted(program: bytes, client: Any, options: Any, *rest: Any) -> Any:
        used.append(options)
        return compile_program(program, client, options, *rest)

    monkeypatch.setattr(loading, "compile_program", noted)
    check(olympus_runtime.load(path), 4, 2)
    assert used == [[("xla_cpu_enable_fast_math", True)]]


def test_the_manifest_has_the_symbols(bundle: Path) -> None:
    manifest = artifact.symbolic_of(bundle)
    assert manifest.variables == ("d", "b")
    assert list(map(str, manifest.arguments[0].shape)) == ["4", "2*d"]
    assert list(map(str, manifest.results[1].shape)) == ["2*b", "2*d"]
    assert list(dict.fromkeys(c.text for c in manifest.constraints)) == list(CONSTRAINTS)
    assert manifest.sizes == (AT,)
    assert b"StableHLO_v" in members_of(bundle)["program.stablehlo.bc"][:32]
    with pytest.raises(ArtifactError, match="has a program for all sizes d, b"):
        artifact.load(bundle)
    with pytest.raises(ArtifactError, match="has no program for all sizes"):
        artifact.symbolic_of(bundle.parent / "at.olympus")


def test_weights_are_bound_to_it(path: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    w, x = arguments(12, 2)
    safetensors.save_file({"w": w}, tmp_path / "w.safetensors")
    artifact.join_weights(tmp_path / "s.olympus", path, {"w": tmp_path / "w.safetensors"})
    got = olympus_runtime.load(tmp_path / "s.olympus")(x)
    np.testing.assert_allclose(got["mean"], np.tanh(x @ w).mean(0), rtol=1e-5, atol=1e-6)


Change = Callable[[dict[str, Any]], object]
DAMAGES: list[tuple[Change, str]] = [
    (lambda m: m.pop("constraints"), "has no 'constraints'"),
    (lambda m: m["arguments"][1].update(shape=["b*b", 4]), "its sizes b cannot be solved"),
    (lambda m: m["arguments"][1].update(shape=["b.real", 4]), "an expression of sizes"),
    (lambda m: m["arguments"][1].update(shape=["f(b, 1)", 4]), "an expression of sizes"),
    (lambda m: m["arguments"][1].update(shape=["2" * 3000, 4]), "an expression of sizes"),
    (lambda m: m["arguments"][1].update(shape=["(" * 900, 4]), "an expression of sizes"),
    (lambda m: m["results"][0].update(shape=["e"]), "the variables of the arguments"),
    (lambda m: m.update(sizes=[{"b": 8}]), "a value for each variable"),
    (lambda m: m.update(sizes=[]), "a value for each variable"),
    (lambda m: m.update(programs={}), "a backend's program"),
    (lambda m: m.update(programs={"cpu": "b"}), "the name of a member"),
    (lambda m: m["results"][0].update(shape=["b"]), "its bundles have other arrays"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGES)
def test_a_wrong_manifest_is_refused(
    path: Path, tmp_path: Path, change: Change, message: str
) -> None:
    copy = tmp_path / "copy.olympus"
    copy.write_bytes(path.read_bytes())
    change_manifest(copy, change)
    with pytest.raises(ArtifactError, match=message):
        olympus_runtime.load(copy)


def test_a_program_that_is_no_stablehlo_is_refused(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.olympus"
    copy.write_bytes(path.read_bytes())
    replace_member(copy, "program.stablehlo.bc", b"no program")
    with pytest.raises(ArtifactError, match="its program cannot be given these sizes"):
        check(olympus_runtime.load(copy), 4, 2)


def test_a_part_must_be_the_program(bundle: Path, tmp_path: Path) -> None:
    lowered = traced().lower()
    with pytest.raises(ArtifactError, match="is not 'model' for the sizes"):
        artifact.join_symbolic(
            tmp_path / "x.olympus", lowered, [({"b": 4, "d": 2}, bundle.parent / "at.olympus")]
        )
    fixed = lowered.at_sizes(AT)
    with pytest.raises(UsageError, match="'model' has no symbolic sizes"):
        artifact.join_symbolic(tmp_path / "x.olympus", fixed, [(AT, bundle.parent / "at.olympus")])
    with pytest.raises(UsageError, match="no bundle for sizes"):
        artifact.join_symbolic(tmp_path / "x.olympus", lowered, [])


def test_a_signed_bundle_is_loaded(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    pair = artifact.new_key()
    (tmp_path / "key").write_bytes(pair.private)
    copy = tmp_path / "copy.olympus"
    artifact.sign(path, tmp_path / "key", copy)
    check(olympus_runtime.load(copy, trust=pair.public), 8, 2)
    with pytest.raises(ArtifactError, match="not signed"):
        olympus_runtime.load(path, trust=pair.public)


def test_expressions_have_the_values_of_dimensions() -> None:
    values = {"a": 7, "b": 3}
    a, b = export.symbolic_shape("a, b")
    for size, value in [
        (a + 2 * b - 1, 12),
        (2 * a * b, 42),
        (a**2 - b, 46),
        (-a + 9, 2),
        ((a // b) * 2 + a % b - 5, 0),
        (export.symbolic_shape("max(a, b) + min(a, 2*b)", scope=a.scope)[0], 13),
    ]:
        assert Expression(str(size)).value(values) == value
    assert Expression("a*b + floordiv(b, 2)").is_linear("a")
    assert not Expression("a*b + floordiv(b, 2)").is_linear("b")


@pytest.mark.parametrize("text", ["", "a b", "a.b", "a[0]", "'a'", "1.5", "a**99", "a < b", "f(a)"])
def test_other_texts_are_no_expressions(text: str) -> None:
    with pytest.raises(DataError, match="no expression of sizes"):
        Expression(text)


def test_variables_are_solved_in_any_order() -> None:
    shapes = [
        SymbolicShape("x", (Expression("2*a + 3*b"),)),
        SymbolicShape("y", (Expression("a - 1"), 5)),
    ]
    assert Sizes(shapes, []).of([(22,), (4, 5)], "f") == {"a": 5, "b": 4}
    with pytest.raises(DataError, match="its sizes a, b cannot be solved"):
        Sizes(shapes[:1], [])


def test_the_manifest_is_json(bundle: Path) -> None:
    data = json.loads(members_of(bundle)["manifest.json"])
    assert data == json.loads(json.dumps(artifact.symbolic_of(bundle).to_data()))


def test_the_error_of_a_bound_program_counts_the_arguments_of_the_caller(
    path: Path, tmp_path: Path
) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    w, x = arguments(8, 2)
    safetensors.save_file({"w": w}, tmp_path / "w.safetensors")
    program = olympus_runtime.load(path, weights=tmp_path / "w.safetensors")
    with pytest.raises(TypeError, match="it got 2 positional arguments, and takes 1"):
        program(x, x)
