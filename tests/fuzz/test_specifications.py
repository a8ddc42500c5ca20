"""Mutated olympus.toml documents and --shapes texts: each is accepted, or reported as a mistake."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner, Result

from olympus_cli.main import cli
from tests.fuzz.conftest import Fuzz

DOCUMENTS = (
    (Path(__file__).parents[2] / "olympus.toml.example").read_text(encoding="utf-8"),
    """\
[project]
build-dir = "made"
default-targets = ["a", "b@n=1"]

[target.a]
entry = "m:f"
args = ["f32[8,128]", { w = "bf16[3,4]", b = ["i32[]", { from = "m:init" }] }]
static = { train = false, rate = 1e-3, mode = "fast", day = 2024-02-29 }
donate = ["x"]
backends = ["cpu", "gpu:h200"]

[target.b]
entry = "path/file.py:net.apply"
args.x = "f32[{n},8]"
static.k = "{k}"
matrix = { n = [1, 8], k = [0.5, "a"] }
""",
)

SHAPES = (
    "f32[8,128], i32[]",
    "x=f32[8], params={w=bf16[3,4], b=[c64[], pred[0]]}, k={from=m:init}",
    "'f8_e4m3fn[1,2,3]', {\"a b\" = f32[]}, [[], {}], from=f32[2]",
)

TOKENS = (
    *("[", "]", "{", "}", "[[", "]]", "=", ",", ".", '"', "'", '"""', "'''", "#", "\\", "\n", "\r"),
    *("\t", " ", "\0", "\ufeff", "\u202e", "\x1b[31m", "é", "١٢", "\\u0000", "\\ud800", "-"),
    *("0", "-1", "1_0", "0x1f", "1e999", "nan", "-inf", "true", "1979-05-27T07:32:00Z", "9" * 20),
    *(
        "9" * 5000,
        "0x" + "f" * 5000,
        "9223372036854775807",
        "[" * 400,
        "{a=" * 400,
        "a." * 400 + "a",
    ),
    *("target", "project", "entry", "args", "static", "donate", "backends", "matrix", "from", "n"),
    *(
        "f32[8]",
        "f33[8]",
        "i32[]",
        "{n}",
        "{batch}",
        "{ n }",
        "cpu",
        "gpu:h200",
        "m:f",
        "../x",
        "/",
    ),
    *("[target.a]", "[target.a.matrix]", "n = [1, 2]", 'args = ["f32[{n}]"]', "x" * 300, "@n=1"),
)

#: The exit codes in README.md of a command that only reads: success, mistake, not traceable.
EXPECTED = {0, 2, 3}
HANGS = 120  # seconds that no case comes near


def mutated(text: str, rng: random.Random) -> str:
    """`text` after a few changes, of which each is as likely."""
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        i, j = sorted(rng.randint(0, len(text)) for _ in range(2))
        j = min(j, i + rng.choice((1, 8, 80)))
        before, span, after = text[:i], text[i:j], text[j:]
        token = rng.choice(TOKENS)
        text = rng.choice(
            (
                before + token + span + after,
                before + token + after,
                before + after,
                before,
                before + span * rng.choice((2, 3, 300)) + after,
                before + span[::-1] + after,
                before + chr(rng.randrange(0xD800)) + after,
                after + before,
            )
        )
    return text


@contextmanager
def not_for_ever() -> Iterator[None]:
    """A context whose end is forced: a hang becomes an exception that no command catches."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise SystemError("it hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(result: Result, what: str) -> None:
    """Check that the command ended as documented, and gave the reason in its own lines."""
    case = f"{what}\n{result.output[:2000]}"
    assert result.exit_code in EXPECTED, case
    assert "Traceback" not in result.output, case
    assert result.exit_code == 0 or "error: " in result.stderr, case


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*arguments: str) -> Result:
        with not_for_ever():
            return CliRunner().invoke(cli, arguments, prog_name="olympus")

    return invoke


def test_documents(fuzz: Fuzz, tmp_path: Path, run: Callable[..., Result]) -> None:
    """A build of a target that no document has reads the whole document, and starts nothing."""
    for seed in fuzz.seeds(1000):
        rng = random.Random(seed)
        content = bytearray(mutated(rng.choice(DOCUMENTS), rng).encode("utf-8", "surrogatepass"))
        if content and rng.random() < 0.1:
            content[rng.randrange(len(content))] = rng.randrange(256)
        (tmp_path / "olympus.toml").write_bytes(content)
        result = run("build", "no-such-target")
        assert result.exit_code == 2, f"seed {seed}\n{result.output[:2000]}"
        check(result, f"seed {seed}")


def test_shapes(fuzz: Fuzz, tmp_path: Path, run: Callable[..., Result]) -> None:
    """A program that takes and returns anything is traced for the shapes."""
    (tmp_path / "fuzzed_program.py").write_text(
        "def f(*args, **named):\n    return args, named\n\n\ndef init():\n    return ()\n"
    )
    for seed in fuzz.seeds(250):
        rng = random.Random(seed)
        text = mutated(rng.choice(SHAPES), rng).replace("\0", "")  # which no command line can hold
        check(run("trace", "fuzzed_program:f", f"--shapes={text}"), f"seed {seed}: {text[:500]!r}")


def test_statics(fuzz: Fuzz, tmp_path: Path, run: Callable[..., Result]) -> None:
    """So are values of a static argument."""
    (tmp_path / "fuzzed_program.py").write_text("def f(x, k=0):\n    return x\n")
    for seed in fuzz.seeds(120):
        rng = random.Random(seed)
        value = mutated(rng.choice(("1", "1e3", '"a b"', "2024-02-29", "[1, 2]", "{a = 1}")), rng)
        text = f"k={value}".replace("\0", "")
        result = run("trace", "fuzzed_program:f", "--shapes=f32[2]", f"--static={text}")
        check(result, f"seed {seed}: {text[:500]!r}")
