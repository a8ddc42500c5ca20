"""Targets with `buckets`: one bundle for several sizes, built, inspected, run and cleaned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import olympus_runtime
from olympus import artifact
from olympus_cli.builder import bucket_bundles

Invoke = Callable[..., Result]

MODEL = """\
import olympus.numpy as np


def init():
    return {"w": np.ones((4, 3)), "b": np.zeros(3)}


def forward(params, x):
    return np.tanh(x @ params["w"] + params["b"])


def mean(x, valid):
    return np.where(valid[:, None], x, 0).sum(0) / valid.sum()


def norm(x):
    return x - x.mean(0)


def halves(x):
    return x.reshape(-1, 8, 4).sum(1)
"""
FORWARD = """\
[target.forward]
entry = "model:forward"
args.params = { from = "model:init" }
args.x = "f32[{batch},4]"
buckets.batch = [1, 4, 16]
oversize = "split"
"""
MEAN = """\
[target.mean]
entry = "model:mean"
args.x = "f32[{n},4]"
args.valid = "bool[{n}]"
buckets.n = { max = 6 }
padding.valid = "mask"
"""
NORM = """\
[target.norm]
entry = "model:norm"
args.x = "f32[{n},4]"
buckets.n = [2, 4]
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "model.py").write_text(MODEL)
    (folder / "olympus.toml").write_text(FORWARD + MEAN)
    return folder


def statuses(result: Result) -> dict[str, str]:
    return {x["target"]: x["status"] for x in json.loads(result.stdout)["targets"]}


def test_a_bundle_takes_any_number_of_rows(work: Path, invoke: Invoke) -> None:
    result = invoke("build", "--json")
    assert result.exit_code == 0, result.stderr
    sizes = [f"forward@batch={n}" for n in (1, 4, 16)] + [f"mean@n={n}" for n in (1, 2, 4, 6)]
    assert statuses(result) == dict.fromkeys([*sizes, "forward", "mean"], "built")
    mean = olympus_runtime.load("build/mean/mean.olympus")
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.testing.assert_allclose(mean(x), x.mean(0), rtol=1e-6)
    forward = olympus_runtime.load("build/forward/forward.olympus")
    params = {"w": np.ones((4, 3), np.float32), "b": np.ones(3, np.float32)}
    x = np.random.default_rng(0).standard_normal((37, 4)).astype(np.float32)
    want = np.tanh(x @ params["w"] + params["b"])
    np.testing.assert_allclose(forward(params, x), want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("arguments", ["x, valid", "x, *, valid", "valid, x", "*, x, valid"])
def test_a_mask_may_be_any_argument(arguments: str, work: Path, invoke: Invoke) -> None:
    (work / "model.py").write_text(MODEL.replace("mean(x, valid)", f"mean({arguments})"))
    (work / "olympus.toml").write_text(MEAN.replace("{ max = 6 }", "[2, 4]"))
    assert invoke("build").exit_code == 0
    mean = olympus_runtime.load("build/mean/mean.olympus")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(mean(x=x), x.mean(0))
    takes = int(not arguments.startswith("*"))
    with pytest.raises(olympus_runtime.SignatureError, match=f"got 2 .*, and takes {takes}"):
        mean(x, x)


def test_a_fresh_bundle_is_not_written_again(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    bundle = Path("build/mean/mean.olympus")
    before = bundle.stat().st_mtime_ns, bundle.read_bytes()
    assert statuses(invoke("build", "--json"))["mean"] == "fresh"
    assert (bundle.stat().st_mtime_ns, bundle.read_bytes()) == before
    assert invoke("build", "--frozen").exit_code == 0


@pytest.mark.parametrize(
    "change",
    [("valid.sum()", "valid.sum() * 2"), ('"mask"', '"zeros"'), ("{ max = 6 }", "[2, 5]")],
    ids=["program", "padding", "sizes"],
)
def test_a_change_joins_the_bundle_again(
    change: tuple[str, str], work: Path, invoke: Invoke
) -> None:
    assert invoke("build", "mean").exit_code == 0
    for name in ("model.py", "olympus.toml"):
        (work / name).write_text((work / name).read_text().replace(*change))
    frozen = invoke("build", "mean", "--frozen")
    assert frozen.exit_code == 7
    assert invoke("build", "mean").exit_code == 0
    assert invoke("build", "mean", "--frozen").exit_code == 0


def test_a_damaged_or_missing_bundle_is_joined_again(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "mean").exit_code == 0
    bundle = Path("build/mean/mean.olympus")
    content = bundle.read_bytes()
    for damage in (lambda: bundle.write_bytes(content[:-9]), bundle.unlink):
        damage()
        assert statuses(invoke("build", "mean", "--json"))["mean"] == "built"
        assert bundle.read_bytes() == content


def test_one_size_alone_joins_nothing(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "mean@n=4").exit_code == 0
    assert not Path("build/mean").exists()


def test_rows_that_mix_are_refused_with_the_line(work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(NORM)
    result = invoke("build")
    assert result.exit_code == 3
    assert "error: target 'norm': the results depend on n itself" in result.stderr
    assert "model.py:17: return x - x.mean(0)" in result.stderr
    assert not Path("build/norm").exists()


@pytest.mark.parametrize("scale", ["min(x.shape[0], 4)", "(1 if x.shape[0] > 4 else 2)"])
def test_a_threshold_of_the_rows_is_refused(scale: str, work: Path, invoke: Invoke) -> None:
    (work / "model.py").write_text(f"def norm(x):\n    return x * {scale}\n")
    (work / "olympus.toml").write_text(NORM.replace("[2, 4]", "[1, 8, 16]"))
    result = invoke("build")
    assert result.exit_code == 3
    assert "for n = 8 and 2" in result.stderr
    (work / "olympus.toml").write_text(NORM.replace("[2, 4]", "[4, 5, 16]"))
    assert invoke("build").exit_code == 3


def test_a_bundle_of_another_proof_is_joined_again(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invoke("build", "mean").exit_code == 0
    monkeypatch.setattr(bucket_bundles, "PROOF_VERSION", 99)
    assert statuses(invoke("build", "mean", "--json"))["mean"] == "built"
    assert artifact.buckets_of("build/mean/mean.olympus").proof == 99
    assert statuses(invoke("build", "mean", "--json"))["mean"] == "fresh"


def test_a_function_for_multiples_of_eight(work: Path, invoke: Invoke) -> None:
    toml = NORM.replace("norm", "halves").replace("[2, 4]", "[8, 16, 24]")
    (work / "olympus.toml").write_text(toml)
    result = invoke("build")
    assert result.exit_code == 3
    assert "the results depend on n itself: for n = 8 and 16" in result.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("buckets = {}", "has 0 keys"),
        ("buckets = { n = [1], m = [2] }", "has 2 keys"),
        ("buckets.n = []", "array of sizes in increasing order"),
        ("buckets.n = [4, 1]", "array of sizes in increasing order"),
        ("buckets.n = [1, 1]", "array of sizes in increasing order"),
        ("buckets.n = [0, 1]", "array of sizes in increasing order"),
        ("buckets.n = [1.5]", "array of sizes in increasing order"),
        ("buckets.n = [true]", "array of sizes in increasing order"),
        ("buckets.n = 8", "array of sizes in increasing order"),
        ("buckets.k = [1, 2]", "no shape of args has {k} as a size"),
        ('buckets."a b" = [1, 2]', "is not a name"),
        ("buckets.n = { max = 8, step = 0 }", "a number"),
        ("buckets.n = { min = 9, max = 8 }", "min is 9"),
        ("buckets.n = { min = 1 }", "a size from 1"),
        ("buckets.n = { max = 9, stride = 2 }", "stride"),
        ("buckets.n = { max = 999, step = 1 }", "at most 64"),
        ("buckets.n = [1, 2]\nmatrix.n = [3]", "matrix have the key 'n'"),
        ('buckets.n = [1, 2]\npadding.x = "ones"', "zeros, edge or mask"),
        ('buckets.n = [1, 2]\npadding.y = "zeros"', "not an argument in args"),
        ('buckets.n = [1, 2]\noversize = "grow"', "oversize"),
        ('padding.x = "zeros"', "needs the table buckets"),
        ('oversize = "split"', "needs the table buckets"),
    ],
)
def test_wrong_keys(line: str, message: str, work: Path, invoke: Invoke) -> None:
    (work / "olympus.toml").write_text(NORM.replace("buckets.n = [2, 4]\n", f"{line}\n"))
    result = invoke("build")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "olympus.toml:" in result.stderr


def test_symbolic_sizes_beside_buckets_are_refused(work: Path, invoke: Invoke) -> None:
    text = NORM.replace("f32[{n},", "f32[{n},2*d,", 1)
    assert text != NORM
    (work / "olympus.toml").write_text(text)
    result = invoke("build")
    assert result.exit_code == 2, result.output
    assert "args has the symbolic size 2*d, and a bundle has buckets or" in result.stderr


def test_ranges_of_sizes(work: Path, invoke: Invoke) -> None:
    for text, sizes in {
        "{ max = 20 }": [1, 2, 4, 8, 16, 20],
        "{ min = 3, max = 9 }": [3, 4, 8, 9],
        "{ min = 5, max = 21, step = 8 }": [5, 13, 21],
        '{ min = 4, max = 4, step = "pow2" }': [4],
    }.items():
        (work / "olympus.toml").write_text(NORM.replace("[2, 4]", text))
        listed = json.loads(invoke("list", "--json").stdout)["targets"]
        names = [*(f"norm@n={size}" for size in sizes), "norm"]
        assert [x["target"] for x in listed] == names


@pytest.mark.parametrize(
    ("padding", "message"),
    [('valid = "mask"\npadding.x = "mask"', "it combines"), ('params = "mask"', "one array")],
)
def test_masks_that_do_not_fit(padding: str, message: str, work: Path, invoke: Invoke) -> None:
    base = FORWARD if "params" in padding else MEAN
    text = base.replace('padding.valid = "mask"\n', "") + f"padding.{padding}\n"
    (work / "olympus.toml").write_text(text)
    result = invoke("build")
    if message == "one array":
        assert result.exit_code == 2
        assert "the mask 'params' must be one array" in result.stderr


def test_run_and_inspect(work: Path, invoke: Invoke) -> None:
    assert invoke("build").exit_code == 0
    bundle = "build/mean/mean.olympus"
    result = invoke("run", bundle, "--size", "5")
    assert result.exit_code == 0, result.stderr
    assert "[4]" in result.stdout
    assert "[37, 3]" in invoke("run", "build/forward/forward.olympus", "--size", "37").stdout
    assert "[16, 3]" in invoke("run", "build/forward/forward.olympus").stdout
    shown = invoke("inspect", bundle).stdout
    assert "n, up to 6; more are refused" in shown
    assert "3 to 4" in shown
    document = json.loads(invoke("inspect", bundle, "--json").stdout)
    assert [bucket["size"] for bucket in document["buckets"]] == [1, 2, 4, 6]
    assert document["manifest"]["schema_version"] == 2
    np.savez("x.npz", x=np.ones((5, 4), np.float32))
    assert invoke("run", bundle, "--size", "5", "--inputs", "x.npz").exit_code == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("build/mean/mean.olympus", "--size", "7"), 2, "takes up to 6 rows (n), and --size is 7"),
        (("build/mean/mean.olympus", "--size", "0"), 2, "must be at least 1"),
        (("build/mean@n=4/mean@n=4.olympus", "--size", "4"), 2, "has one program"),
        (("mean@n=4", "--size", "4"), 2, "--size is for a FILE.olympus"),
    ],
)
def test_wrong_sizes(
    args: tuple[str, ...], code: int, message: str, work: Path, invoke: Invoke
) -> None:
    assert invoke("build", "mean").exit_code == 0
    result = invoke("run", *args)
    assert result.exit_code == code
    assert message in result.stderr


def test_commands_for_one_program_name_the_sizes(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "mean").exit_code == 0
    for command in (("cost",), ("lower",), ("export", "--format", "hlo")):
        result = invoke(command[0], "build/mean/mean.olympus", *command[1:])
        assert result.exit_code == 5
        assert "a program for each of several sizes (n = 1, 2, 4, 6)" in result.stderr


def test_a_command_for_one_program_lists_the_sizes(work: Path, invoke: Invoke) -> None:
    result = invoke("lower", "mean")
    assert result.exit_code == 2
    assert "target 'mean' has several sizes, and this command takes one program" in result.stderr
    assert "mean@n=1, mean@n=2" in result.stderr


def test_a_bundle_is_signed(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "mean").exit_code == 0
    bundle = "build/mean/mean.olympus"
    assert invoke("sign", "--new-key", "team").exit_code == 0
    assert invoke("sign", bundle, "--key", "team.key", "-o", "s.olympus").exit_code == 0
    assert invoke("run", "s.olympus", "--trust", "team.pub").exit_code == 0
    assert invoke("inspect", "s.olympus", "--trust", "team.pub").exit_code == 0
    assert invoke("run", bundle, "--trust", "team.pub").exit_code == 5
    assert artifact.buckets_of("s.olympus").sizes == (1, 2, 4, 6)


def test_clean_removes_it(work: Path, invoke: Invoke) -> None:
    assert invoke("build", "mean").exit_code == 0
    assert invoke("clean", "mean@n=4").exit_code == 0
    assert Path("build/mean/mean.olympus").exists()
    assert invoke("clean", "mean").exit_code == 0
    assert not Path("build/mean").exists()


def test_a_matrix_makes_several_bundles(work: Path, invoke: Invoke) -> None:
    toml = NORM.replace("norm", "scaled").replace("[2, 4]", "[2, 4]\nmatrix.scale = [1, 3]")
    (work / "olympus.toml").write_text(toml)
    (work / "model.py").write_text("def scaled(x, scale):\n    return x * scale\n")
    assert invoke("build").exit_code == 0
    for scale in (1, 3):
        name = f"scaled@scale={scale}"
        program = olympus_runtime.load(f"build/{name}/{name}.olympus")
        x = np.ones((3, 4), np.float32)
        np.testing.assert_array_equal(program(x), x * scale)


def test_more_rows_than_the_largest_size_are_refined(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(work / "store"))
    toml = FORWARD.replace('"split"', '"refine"') + 'constraints = ["batch <= 99"]\n'
    (work / "olympus.toml").write_text(toml)
    assert invoke("build").exit_code == 0
    assert statuses(invoke("build", "--json"))["forward"] == "fresh"
    path = work / "build/forward/forward.olympus"
    params = {"w": np.ones((4, 3), "float32"), "b": np.zeros(3, "float32")}
    program = olympus_runtime.load(path)
    for rows in (3, 40):
        got = program(params, np.ones((rows, 4), "float32"))
        np.testing.assert_allclose(got, np.tanh(np.full((rows, 3), 4.0)), rtol=1e-6)
    assert "more are compiled" in invoke("inspect", str(path)).stdout
    assert "[40, 3]" in invoke("run", str(path), "--size", "40").stdout
    (work / "olympus.toml").write_text(toml.replace("99", "30"))
    assert statuses(invoke("build", "--json"))["forward"] == "built"
    with pytest.raises(TypeError, match="batch <= 30 does not hold for batch = 40"):
        olympus_runtime.load(path)(params, np.ones((40, 4), "float32"))
