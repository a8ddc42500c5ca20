"""The plugin of pytest: targets as tests, the fixture, the marker, and no effect by default."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib

import pytest

from olympus_cli.text.packages import PACKAGES
from tests.documents.documents import ROOT, read

pytest_plugins = ["pytester"]

MODEL = """\
import olympus.numpy as np


def dense(x, w):
    y = x @ w
    z = np.tanh(y)
    return z + z.sum()


def nan(x):
    return np.log(x - 100.0)
"""
TOML = """\
[target.kept]
entry = "model:dense"
args = ["f32[8,16]", "f32[16,32]"]
budget.flops = "1 MFLOP"

[target.broken]
entry = "model:dense"
args = ["f32[8,16]", "f32[16,32]"]
budget.flops = "8 kFLOP"
"""
OTHER = """
[target.other]
entry = "model:dense"
args = ["f32[8,16]", "f32[16,32]"]
"""
TESTS = """\
import pytest
from olympus import ShapeDtypeStruct
from model import dense

X, W = ShapeDtypeStruct((8, 16), "float32"), ShapeDtypeStruct((16, 32), "float32")
"""

ENTRY_POINTS = importlib.metadata.entry_points(group="pytest11")
#: An installation of OLYMPUS has the plugin already.
PLUGIN = (
    ()
    if any(entry_point.value == "olympus_cli.pytest_plugin" for entry_point in ENTRY_POINTS)
    else ("-p", "olympus_cli.pytest_plugin")
)


@pytest.fixture
def work(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(model=MODEL)
    # these sessions run in this process, which has imported the package: pytest warns about it
    options = "-W error -W ignore::pytest.PytestAssertRewriteWarning --strict-markers"
    pytester.makeini(f"[pytest]\naddopts = {options} -p no:cacheprovider\n")
    pytester.syspathinsert()
    return pytester


def run(work: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return work.runpytest_inprocess(*PLUGIN, *arguments)


def test_the_package_has_the_entry_point() -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert project["entry-points"]["pytest11"] == {"olympus": "olympus_cli.pytest_plugin"}
    assert not [name for name in project["dependencies"] if name.startswith("pytest")]


def test_the_plugin_does_not_import_the_compiler() -> None:
    code = (
        "import sys, olympus_cli.pytest_plugin\n"
        "heavy = {'olympus', 'olympus_core', 'jaxlib', 'numpy', 'rich'}\n"
        "assert not heavy & {name.partition('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("plugin", "is_rewritten"), [("", False), ("-p no:olympus", True)])
def test_pytest_does_not_rewrite_the_package(
    work: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, plugin: str, is_rewritten: bool
) -> None:
    """Pytest rewrites all packages of a distribution with a plugin, unless the plugin prevents it.

    The distribution is laid out as a wheel of OLYMPUS installs it; without the plugin its modules
    are rewritten, which proves that pytest sees it.
    """
    site = work.mkdir("site")
    for name in PACKAGES:
        (site / name).symlink_to(ROOT / name)
    info = site / "olympus-99.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: olympus\nVersion: 99\n")
    (info / "RECORD").write_text("olympus/__init__.py,,\nolympus_cli/__init__.py,,\n")
    (info / "entry_points.txt").write_text("[pytest11]\nolympus = olympus_cli.pytest_plugin\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    work.makepyfile(
        test_own=f"""
        from olympus_cli.text import nearest

        def test_own():
            assert ("@pytest_ar" in vars(nearest)) is {is_rewritten}
        """
    )
    work.makeini(f"[pytest]\naddopts = -W error -p no:cacheprovider {plugin}\n")
    work.runpytest_subprocess("test_own.py").assert_outcomes(passed=1)


def test_the_finder_is_installed_during_a_session(work: pytest.Pytester) -> None:
    finders = list(sys.meta_path)
    work.makepyfile(
        test_own="""
        import sys

        def test_own():
            assert [type(each).__name__ for each in sys.meta_path].count("_Plain") == 1
        """
    )
    for _ in range(2):
        work.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)
        run(work, "--collect-only")
    assert sys.meta_path == finders


def test_no_target_is_collected_by_default(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus=TOML)
    work.makepyfile(test_own="def test_own():\n    assert True\n")
    run(work).assert_outcomes(passed=1)


def test_targets_are_tests(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus=TOML)
    work.makepyfile(test_own="def test_own():\n    assert True\n")
    result = run(work, "--olympus", "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "olympus.toml::check?kept? PASSED*",
            "olympus.toml::check?broken? FAILED*",
            "target 'broken' on cpu: flops is 8.*k, * over the limit of 8 kFLOP",
            "  model.py:5  8.19 k",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_targets_of_a_pyproject_toml_are_tests(work: pytest.Pytester) -> None:
    work.makepyprojecttoml(TOML.replace("[target", "[tool.olympus.target"))
    result = run(work, "--olympus", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["pyproject.toml::check?kept? PASSED*"])
    work.path.joinpath("olympus.toml").write_text(TOML)
    result = run(work, "--olympus", "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["olympus.toml::check?kept? PASSED*"])


def test_targets_are_tests_for_tests_in_any_folder(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus=TOML.partition("\n[target.broken]")[0])
    work.makeini("[pytest]\ntestpaths = tests\n")
    work.mkdir("tests").joinpath("test_own.py").write_text("def test_own():\n    assert True\n")
    run(work, "--olympus").assert_outcomes(passed=2)
    run(work, "--olympus", "tests").assert_outcomes(passed=2)
    run(work, "--olympus", "tests/test_own.py::test_own").assert_outcomes(passed=1)
    run(work, "--olympus", "olympus.toml").assert_outcomes(passed=1)


@pytest.mark.parametrize("option", ["--olympus", "--olympus-verify"])
def test_requested_targets_that_are_absent_fail(work: pytest.Pytester, option: str) -> None:
    work.makepyfile(test_own="def test_own():\n    assert True\n")
    result = run(work, option)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["no target is judged: no olympus.toml is among the tests *"])


def test_a_project_without_budgets_fails(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus=TOML.replace("budget.flops", "# budget.flops"))
    work.makepyfile(test_own="def test_own():\n    assert True\n")
    result = run(work, "--olympus")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["no target is judged: no target of olympus.toml has a budget or is golden"]
    )


NOTE = "note: not judged, as they have no budget and are not golden: *"


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_targets_without_a_budget_are_in_the_summary(
    work: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    toml = TOML.partition("\n[target.broken]")[0]
    free = "".join(f'[target.{n}]\nentry = "model:nan"\nargs = ["f32[4]"]\n' for n in ("c", "d"))
    work.makefile(".toml", olympus=f"{toml}\n{free}")
    result = run(work, "--olympus", *workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([NOTE.replace("*", "c, d")])
    assert result.ret == 0
    single = run(work, "--olympus", "olympus.toml::check[kept]", *workers)
    single.assert_outcomes(passed=1)
    single.stdout.no_fnmatch_line(NOTE)


def test_no_note_if_all_targets_are_judged_or_only_numbers_are_requested(
    work: pytest.Pytester,
) -> None:
    work.makefile(".toml", olympus=TOML.partition("\n[target.broken]")[0])
    run(work, "--olympus").stdout.no_fnmatch_line(NOTE)
    work.makefile(".toml", olympus='[target.f]\nentry = "model:dense"\nargs = ["f32[4,4]"]\n')
    run(work, "--olympus-verify").stdout.no_fnmatch_line(NOTE)


def test_numbers_are_verified(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus='[target.nan]\nentry = "model:nan"\nargs = ["f32[4]"]\n')
    result = run(work, "--olympus-verify")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'log' made the first NaN", "*model.py:11*"])


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[target.kept]\nentrie = 3\n", "olympus.toml:2: *has no key 'entrie'*"),
        ("[target", "olympus.toml:1:*not TOML*"),
    ],
)
def test_a_wrong_project_is_an_error_of_collection(
    work: pytest.Pytester, toml: str, message: str
) -> None:
    work.makefile(".toml", olympus=toml)
    result = run(work, "--olympus")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_the_fixture(work: pytest.Pytester) -> None:
    work.makepyfile(
        TESTS
        + """

def test_kept(olympus):
    olympus.check(dense, X, W, flops="1 MFLOP", peak_memory="1 MiB", forbid=["f64"])
    assert "stablehlo.tanh" in olympus.lower(dense, X, W).as_text()
    assert olympus.cost(dense, X, W).flops > 8000
    assert olympus.memory(dense, X, w=W).peak > 0

def test_broken(olympus):
    olympus.check(dense, X, W, flops="8 kFLOP", forbid=["tanh"], executable_size=10)

@pytest.mark.parametrize("limits", [
    {"flop": 1}, {"flops": "2 GiB"}, {"flops": "+1%"}, {"bundle_size": 1}, {}
])
def test_wrong(olympus, limits):
    olympus.check(dense, X, W, **limits)
"""
    )
    result = run(work)
    result.assert_outcomes(passed=1, failed=6)
    result.stdout.fnmatch_lines(
        [
            "*olympus.check(dense, X, W, flops=*",
            "E *AssertionError: dense does not keep to its budget",
            "E *flops is 8.*k, * over the limit of 8 kFLOP",
            "E *model.py:5  8.19 k",
            "E *the program has tanh, which is forbidden, 1 times",
            "E *model.py:6  1 operation",
            "E *UsageError: olympus.check: ?budget? has no key 'flop'",
            "E *UsageError: olympus.check: budget.flops is '2 GiB'*",
            "E *hint: its units are *",
            "E *UsageError: olympus.check: flops is '+1%', and a test has no saved figure",
            "E *UsageError: olympus.check: bundle-size applies only to targets*",
            "E *UsageError: olympus.check needs a limit",
        ]
    )


def test_a_requested_donation_that_is_absent(work: pytest.Pytester) -> None:
    rule = '[budget]\ndonation = "all-used"\n'
    work.makefile(".toml", olympus=rule + TOML.replace("8 kFLOP", "1 MFLOP") + OTHER)
    work.makepyfile(
        TESTS
        + """
def test_limit(olympus):
    olympus.check(dense, X, W, donation="all-used")

@pytest.mark.olympus_budget(donation="all-used")
def test_marker(olympus):
    olympus.check(dense, X, W, flops="1 MFLOP")
"""
    )
    result = run(work, "--olympus", "-rs")
    result.assert_outcomes(passed=2, skipped=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *the program donates no array, so that donation = all-used judges nothing",
            "E *donate an argument with the dtype and shape of a result: *",
            "SKIPPED*target 'other' is not judged: it donates no array*",
        ]
    )


def test_the_marker_applies_to_programs_of_the_fixture(work: pytest.Pytester) -> None:
    work.makepyfile(
        TESTS
        + """
pytestmark = pytest.mark.olympus_budget(forbid=["sine"], flops=1)

@pytest.mark.olympus_budget(flops="1 MFLOP")
def test_nearest_goes_first(olympus):
    olympus.compile(dense, X, W)

def test_broken(olympus):
    olympus.lower(dense, X, W)

def test_nothing_made(olympus):
    assert True
"""
    )
    result = run(work)
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "the test has the marker olympus_budget and lowers or compiles no program",
            "E *flops is *",
        ]
    )


def test_a_budget_without_the_fixture_is_an_error_of_its_test(work: pytest.Pytester) -> None:
    work.makepyfile(
        TESTS
        + """

@pytest.mark.olympus_budget(flops=1)
def test_own():
    pass

def test_other():
    pass
"""
    )
    result = run(work)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*test_own has the marker olympus_budget*"])


def test_limits_of_the_marker_have_names(work: pytest.Pytester) -> None:
    work.makepyfile(
        TESTS
        + """

@pytest.mark.olympus_budget("1 kFLOP")
def test_unnamed(olympus):
    olympus.lower(dense, X, W)
"""
    )
    result = run(work)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes limits by name*got '1 kFLOP' without a name"])


def test_a_wrong_call_shows_only_frames_of_the_test(work: pytest.Pytester) -> None:
    work.makepyfile(TESTS + "\ndef test_wrong(olympus):\n    olympus.check(dense, X, flops=1)\n")
    result = run(work)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*olympus.check(dense, X, flops=1)", "E *missing*'w'"])
    assert not re.search(r"olympus_(cli|core).*:\d+:", result.stdout.str())


@pytest.mark.night
def test_the_plugin_runs_in_parallel(work: pytest.Pytester) -> None:
    work.makefile(".toml", olympus=TOML)
    work.makeini("[pytest]\ntestpaths = tests\n")
    work.mkdir("tests").joinpath("test_own.py").write_text(
        TESTS + "\ndef test_own(olympus):\n    olympus.check(dense, X, W, flops=10**6)\n"
    )
    result = work.runpytest_subprocess(*PLUGIN, "--olympus", "-n2")
    result.assert_outcomes(passed=2, failed=1)


def test_a_budget_that_limits_nothing_does_not_pass(work: pytest.Pytester) -> None:
    work.makepyfile(
        TESTS
        + """

@pytest.mark.olympus_budget()
def test_no_limit(olympus):
    olympus.lower(dense, X, W)

@pytest.mark.olympus_budget(forbid=[])
def test_no_rule(olympus):
    olympus.lower(dense, X, W)

def test_check(olympus):
    olympus.check(dense, X, W, forbid=[])

def test_infinite(olympus):
    olympus.check(dense, X, W, flops="1e400 FLOP")
"""
    )
    result = run(work)
    result.assert_outcomes(errors=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*olympus_budget needs a limit*",
            "*olympus_budget: forbid limits nothing*",
            "*check: forbid limits nothing*",
            "*budget.flops is '1e400 FLOP', which is too large*",
        ]
    )
