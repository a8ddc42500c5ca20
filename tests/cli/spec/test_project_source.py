"""`[defaults]`, `extends` and `[tool.olympus]`: the merged values, their paths, and their lines."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from textwrap import dedent

import pytest

from olympus.errors import SpecError
from olympus_cli.spec.inputs import InputSpec
from olympus_cli.spec.model import FromEntry, Project, ShapeSpec
from olympus_cli.spec.project import beside_targets, find_project, load_project, place_of_target
from olympus_cli.spec.project_file import project_at
from olympus_cli.spec.project_source import read_project
from olympus_cli.spec.resolve import Request

T = '[target.t]\nentry = "m:f"\n'


def written(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(dedent(text))
    return place


def loaded(folder: Path, text: str) -> Project:
    return load_project(written(folder / "olympus.toml", text))


def refused(folder: Path, text: str) -> tuple[str, str]:
    with pytest.raises(SpecError) as caught:
        loaded(folder, text)
    return str(caught.value), caught.value.hint or ""


def test_a_target_overrides_defaults_and_its_tables_are_merged_by_key(folder: Path) -> None:
    project = loaded(
        folder,
        """
        [defaults]
        entry = "m:f"
        backends = ["gpu"]
        optimize = "fast-build"
        x64 = true
        donate = ["x"]
        args = { x = "f32[{n}]", p = { a = "f32[1]", b = "f32[2]" } }
        static = { k = 1, n = 2 }
        matrix = { n = [1, 2] }
        mesh = { data = 2 }
        env = { A = "1", B = "2" }
        budget = { flops = 10 }

        [target.plain]

        [target.other]
        backends = ["cpu"]
        x64 = false
        donate = []
        args.p = { c = "f32[3]" }
        static.k = 5
        matrix.n = [4]
        mesh = { model = 8 }
        env.B = "3"
        budget.bytes = "1 kB"
        """,
    )
    assert list(project.targets) == ["plain@n=1", "plain@n=2", "other@n=4"]
    plain, other = project.targets["plain@n=2"], project.targets["other@n=4"]
    assert (plain.entry, plain.x64, plain.donate, plain.optimize) == (
        *("m:f", True, ("x",)),
        "fast-build",
    )
    assert (plain.static, plain.mesh, plain.env) == (
        *({"k": 1, "n": 2}, {"data": 2}),
        {"A": "1", "B": "2"},
    )
    assert plain.kwargs["x"] == ShapeSpec("float32", (2,))
    assert (other.x64, other.donate, other.mesh) == (False, (), {"model": 8})
    assert other.kwargs == {
        "x": ShapeSpec("float32", (4,)),
        "p": {"c": ShapeSpec("float32", (3,))},
    }
    assert other.static == {"k": 5, "n": 2}
    assert other.env == {"A": "1", "B": "3"}
    assert [backend.backend for backend in other.backends] == ["cpu"]
    assert set(other.budget.limits) == {"flops", "bytes"}
    assert set(plain.budget.limits) == {"flops"}


def test_defaults_precede_the_tables_for_all_targets(folder: Path) -> None:
    text = "[budget]\nflops = 1\nbytes = 1\n[defaults.budget]\nflops = 2\n" + T
    (target,) = loaded(folder, text).targets.values()
    assert {key: limit.text for key, limit in target.budget.limits.items()} == {
        "flops": "2",
        "bytes": "1 B",
    }


@pytest.mark.parametrize("table", ["budget", "defaults.budget"])
def test_a_common_rule_on_donation_needs_no_donated_array(folder: Path, table: str) -> None:
    (target,) = loaded(folder, f'[{table}]\ndonation = "all-used"\n' + T).targets.values()
    assert (target.budget.all_donations_used, target.budget.must_donate) == (True, False)
    (target,) = loaded(folder, T + 'budget.donation = "all-used"\n').targets.values()
    assert target.budget.must_donate


def test_a_file_inherits_from_a_chain_of_files(folder: Path) -> None:
    top = """
        [defaults]
        optimize = "fast-build"
        env = { A = "top", B = "top" }
        [device.mine]
        like = "h200"
        [device.second]
        like = "h200"
        [budget]
        flops = 1
        [project]
        python-path = ["src"]
        build-dir = "elsewhere"
        [target.not-inherited]
        entry = "m:f"
        """
    middle = """
        extends = "top.toml"
        [defaults]
        entry = "train.py:step"
        env = { B = "middle" }
        args.p = { from = "lib/init.py:init" }
        args.q = { from = "m:init" }
        static.c = { from = "configs.py:C" }
        inputs.p = { file = "data/p.npy" }
        inputs.q = { from = "lib/init.py:values" }
        [device.mine]
        like = "a100-80"
        """
    written(folder / "shared" / "top.toml", top)
    written(folder / "shared" / "middle.toml", middle)
    (folder / "shared" / "src").mkdir()
    own = 'extends = "../shared/middle.toml"\n[target.t]\n[target.u]\nentry = "own.py:f"\n'
    project = load_project(written(folder / "app" / "olympus.toml", own).parent)
    assert list(project.targets) == ["t", "u"]
    target = project.targets["t"]
    assert (target.entry, project.targets["u"].entry) == ("../shared/train.py:step", "own.py:f")
    assert (target.optimize, target.env) == ("fast-build", {"A": "top", "B": "middle"})
    assert target.kwargs == {
        "p": FromEntry("../shared/lib/init.py:init"),
        "q": FromEntry("m:init"),
    }
    assert target.inputs["q"] == InputSpec(entry="../shared/lib/init.py:values")
    file = target.inputs["p"].file
    assert file is not None
    assert os.path.realpath(file) == str(folder.resolve() / "shared/data/p.npy")
    assert target.python_path == (folder.resolve() / "shared/src",)
    assert project.build_dir == folder.resolve() / "app/build"
    assert set(project.devices) == {"mine", "second"}
    assert set(target.budget.limits) == {"flops"}
    assert [path.name for path in project.files] == ["olympus.toml", "middle.toml", "top.toml"]
    folders, devices = beside_targets(folder / "app" / "olympus.toml")
    assert (folders, set(devices)) == (target.python_path, {"mine", "second"})


def test_an_inherited_program_is_found_in_its_own_folder(folder: Path) -> None:
    written(folder / "shared" / "base.toml", '[defaults]\nentry = "step.py:f"\nargs.x = "f32[2]"\n')
    written(folder / "shared" / "step.py", "def f(x):\n    return x + 1\n")
    written(folder / "app" / "olympus.toml", 'extends = "../shared/base.toml"\n[target.t]\n')
    from olympus_cli.frontends.loading import load_target

    spec = Request("t", project=str(folder / "app")).spec()
    assert str(load_target(spec).trace().out_info.dtype) == "float32"


def test_a_pyproject_toml_is_a_project(folder: Path) -> None:
    text = """
        [project]
        name = "app"
        dependencies = ["olympus"]
        [tool.olympus.project]
        build-dir = "out"
        [tool.olympus.target.t]
        entry = "m:f"
        args.x = "f32[2]"
        """
    pyproject = written(folder / "pyproject.toml", text)
    (folder / "a").mkdir()
    assert find_project(folder / "a") == folder.resolve() / "pyproject.toml"
    assert project_at(folder) == pyproject
    project = load_project(folder)
    assert (project.file, project.files) == (pyproject, (pyproject,))
    assert project.build_dir == folder.resolve() / "out"
    assert Request("t").spec().kwargs == {"x": ShapeSpec("float32", (2,))}
    assert place_of_target(project.file, "t")[0].endswith("pyproject.toml:7")
    written(folder / "olympus.toml", '[target.own]\nentry = "m:f"\n')
    assert list(load_project(folder).targets) == ["own"]
    assert list(load_project(pyproject).targets) == ["t"]


@pytest.mark.parametrize(
    ("text", "has_project"),
    [
        ("[tool.olympus]\n", True),
        ("[tool]\nolympus.target.t.entry = 'm:f'\n", True),
        ("[tool]\nolympus = 3\n", False),
        ("[project]\ndependencies = ['olympus']\n", False),
        ("[tool.olympus]\nx = \n", True),
        ("[tool]\nolympus. = \n", False),
        ("[tool.other]\n", False),
        ("\xff", False),
    ],
)
def test_a_pyproject_toml_with_a_table_is_found(folder: Path, text: str, has_project: bool) -> None:
    (folder / "pyproject.toml").write_text(text, "latin-1")
    assert (find_project(folder) is not None) == has_project


def test_errors_of_a_pyproject_toml_have_its_lines(folder: Path) -> None:
    text = '[project]\nname = "a"\n\n[tool.olympus.target.t]\nentry = "m:f"\noptimise = "default"\n'
    written(folder / "pyproject.toml", text)
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert str(caught.value) == ("pyproject.toml:6: [tool.olympus.target.t] has no key 'optimise'")
    written(folder / "pyproject.toml", text.replace("optimise", "optimize").replace("default", "x"))
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert str(caught.value).startswith("pyproject.toml:6: tool.olympus.target.t.optimize must be")
    written(folder / "pyproject.toml", '[project]\nname = "a"\n')
    with pytest.raises(SpecError, match=r"pyproject\.toml has no table \[tool\.olympus\]"):
        load_project(folder / "pyproject.toml")


def test_a_wrong_default_is_reported_at_its_line(folder: Path) -> None:
    message, hint = refused(folder, "[defaults]\n\noptimze = 'default'\n" + T)
    assert message == "olympus.toml:3: [defaults] has no key 'optimze'"
    assert hint == "did you mean optimize?"
    message, _ = refused(folder, "[defaults]\n\noptimize = 'fats'\n" + T)
    assert message.startswith("olympus.toml:3: defaults.optimize must be default or fast-build")
    message, _ = refused(folder, "[defaults]\nargs.x = 'f32[{m}]'\n" + T)
    assert message.startswith("olympus.toml:2: defaults.args.x has {m}, which is not a key")
    message, _ = refused(folder, "[defaults]\nargs.x = 'f33[2]'\n" + T)
    assert message.startswith("olympus.toml:2: defaults.args.x is not a shape")
    message, _ = refused(folder, "[defaults]\nargs.x = 'f32[2]'\n" + T + "args.y = 'f33[2]'\n")
    assert message.startswith("olympus.toml:5: target.t.args.y is not a shape")
    message, _ = refused(folder, "[defaults]\nargs.y = ['f32[{m}]']\n" + T + "args.x = 'f32[2]'\n")
    assert message.startswith("olympus.toml:2: defaults.args.y[0] has {m}, which is not a key")
    message, _ = refused(folder, "[defaults]\nenv = 'A=1'\n" + T + "env.A = '1'\n")
    assert message == "olympus.toml:2: defaults.env must be a table; got a string 'A=1'"
    message, _ = refused(folder, "defaults = 3\n" + T)
    assert message == "olympus.toml:1: defaults must be a table; got the value 3"


def test_a_wrong_extended_file_is_reported_at_its_line(folder: Path) -> None:
    base = folder / "base.toml"
    own = 'extends = "base.toml"\n' + T
    cases = {
        "[defaults]\nmesh = 3\n": "base.toml:2: defaults.mesh must be a table",
        "[defaults]\n\nmsh = {}\n": "base.toml:3: [defaults] has no key 'msh'",
        "[device.mine]\nlike = 'h201'\n": "base.toml:2: device.mine.like",
        "[devices]\n": "base.toml:1: base.toml has no key 'devices'",
        "[budget]\nflips = 1\n": "base.toml:2: [budget] has no key 'flips'",
        "x = \n": "base.toml:1:5: not TOML",
        "[project]\npython-path = ['src']\n": "base.toml:2: project.python-path names the folder",
    }
    for text, expected in cases.items():
        base.write_text(text)
        message, _ = refused(folder, own)
        assert message.startswith(expected), message


def test_extends_names_a_file_that_can_be_read(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "large.toml").touch()
    os.truncate(folder / "large.toml", 2**30)
    os.mkfifo(folder / "pipe.toml")
    (folder / "bytes.toml").write_bytes(b"\xff")
    first = "olympus.toml:2: extends "
    cases = {
        '"none.toml"': ("names none.toml, which does not exist", ""),
        '"sub"': ("names sub, which is a folder", 'write extends = "sub/olympus.toml"'),
        '""': ("must be the path of a file; got ''", 'such as extends = "../base.toml"'),
        '["a.toml"]': ("must be the path of a file", 'such as extends = "../base.toml"'),
        '"a\\u0000"': ("must be the path of a file", 'such as extends = "../base.toml"'),
        '"large.toml"': ("cannot be followed: large.toml cannot be read", ""),
        '"pipe.toml"': ("cannot be followed: pipe.toml cannot be read", ""),
        '"bytes.toml"': ("cannot be followed: bytes.toml is not UTF-8 text", ""),
        f'"{"x" * 5000}"': ("names ", ""),
        '"olympus.toml"': ("leads in a circle: olympus.toml -> olympus.toml", ""),
    }
    for value, (expected, hint) in cases.items():
        message, given = refused(folder, f"\nextends = {value}\n" + T)
        assert message.startswith(first + expected), message
        assert given == hint


def test_a_circle_of_files_is_reported_at_its_last_line(folder: Path) -> None:
    (folder / "a.toml").write_text('extends = "b.toml"\n')
    (folder / "b.toml").write_text('\n\nextends = "a.toml"\n')
    message, _ = refused(folder, 'extends = "a.toml"\n')
    circle = "olympus.toml -> a.toml -> b.toml -> a.toml"
    assert message == f"b.toml:3: extends leads in a circle: {circle}"


def test_extends_in_a_table_is_an_error(folder: Path) -> None:
    message, hint = refused(folder, '[project]\nextends = "a.toml"\n')
    assert message == "olympus.toml:2: extends is in the table [project], and belongs to the file"
    assert hint == 'write extends = "a.toml" before the first table'


def test_a_program_error_has_the_line_of_the_default(folder: Path) -> None:
    from olympus_cli.frontends.loading import load_target

    (folder / "m.py").write_text("def f(x):\n    return x\n")
    (folder / "base.toml").write_text("[defaults]\n\nargs.y = 'f32[2]'\n")
    loaded(folder, 'extends = "base.toml"\n' + T)
    with pytest.raises(Exception, match="f has no argument 'y'") as caught:
        load_target(Request("t").spec())
    assert str(caught.value).startswith("base.toml:3: defaults.args.y: ")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ("A = 1", "target.t.env.A must be a string; got 1"),
        ("A = true", "target.t.env.A must be a string; got True"),
        ("A = ['1']", "target.t.env.A must be a string; got ['1']"),
        ('A = "x\\u0000"', "target.t.env.A is 'x\\x00'"),
        ('"A=B" = "1"', "target.t.env has 'A=B', which is not the name"),
        ("PYTHONHASHSEED = '1'", "target.t.env.PYTHONHASHSEED is read before"),
        ("OLYMPUS_ENABLE_X64 = '1'", "target.t.env.OLYMPUS_ENABLE_X64 is read before"),
    ],
)
def test_a_wrong_variable(folder: Path, env: str, expected: str) -> None:
    message, hint = refused(folder, T + f"[target.t.env]\n{env}\n")
    line = 3 if "env has" in expected else 4
    assert message.startswith(f"olympus.toml:{line}: {expected}"), message
    if env == "A = 1":
        assert hint == 'the values of variables are strings: A = "1"'


def test_variables_take_values_of_the_matrix(folder: Path) -> None:
    text = T + 'env = { N = "{n}", M = "m{n}" }\nx64 = "{wide}"\n'
    targets = loaded(folder, text + "matrix = { n = [1, 2], wide = [true, false] }\n").targets
    assert [(t.env["N"], t.env["M"], t.x64) for t in targets.values()] == [
        *(("1", "m1", True), ("1", "m1", False)),
        *(("2", "m2", True), ("2", "m2", False)),
    ]


def test_x64_is_a_boolean(folder: Path) -> None:
    message, _ = refused(folder, T + "x64 = 1\n")
    assert message == "olympus.toml:3: target.t.x64 must be true or false; got the value 1"


class Written:
    """The text of a file with drawn values of `[defaults]` or of a target, one on each line."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.values: dict[tuple[str, str], str] = {}
        self._random = random

    def table(self, header: str) -> str:
        """Return the lines of a table whose subtables have headers, dots or braces."""
        lines = [f"[{header}]"]
        tables = []
        for key in ("env", "static", "matrix"):
            names = [name for name in "ABC" if self._random.random() < 0.4]
            texts = {name: f'"{header}-{key}-{name}-{self.name}"' for name in names}
            self.values |= {(key, name): text for name, text in texts.items()}
            if key == "matrix":
                texts = {name: f"[{text}]" for name, text in texts.items()}
            if names and self._random.random() < 0.5:
                tables += ["", f"[{header}.{key}]", *(f"{n} = {t}" for n, t in texts.items())]
            else:
                lines += [f"{key}.{name} = {text}" for name, text in texts.items()]
        return "\n".join([*lines, *tables, ""])


@pytest.mark.parametrize("seed", range(60))
def test_a_drawn_chain_of_files_has_the_values_and_lines_of_the_nearest(
    folder: Path, seed: int
) -> None:
    random = Random(seed)
    names = ["olympus.toml", "a.toml", "deep/b.toml", "c.toml"][: random.randint(1, 4)]
    layers: list[Written] = []
    for i, name in enumerate(names):
        layer, parts = Written(name, random), []
        if i + 1 < len(names):
            base = os.path.relpath(folder / names[i + 1], (folder / name).parent)
            parts.append(f'extends = "{base}"\n')
        if i == 0:
            layers.append(Written(name, random))
            parts.append(layers[0].table("target.t"))
        parts.append(layer.table("defaults"))
        layers.append(layer)
        written(folder / name, "\n".join(parts))
    source = read_project(folder / "olympus.toml")
    for key in ("env", "static", "matrix"):
        merged = source.data["target"]["t"].get(key, {})
        for name in "ABC":
            nearest = next((x for x in layers if (key, name) in x.values), None)
            if nearest is None:
                assert name not in merged
                continue
            text = nearest.values[key, name]
            value = merged[name][0] if key == "matrix" else merged[name]
            assert f'"{value}"' == text
            path, line = source.place(("target", "t", key, name))
            assert path.resolve() == (folder / nearest.name).resolve()
            assert text in path.read_text().splitlines()[line - 1]
