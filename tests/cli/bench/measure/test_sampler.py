"""Programs measured in worker processes: in turns, with forged answers, killed, interrupted."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from olympus.errors import CompileError
from olympus_cli.bench.measure.imports import import_seconds
from olympus_cli.bench.measure.sampler import Effort, Sampler, SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.spec.resolve import Request

Invoke = Callable[..., Result]

PROGRAM = """\
import os, signal, sys, time

import olympus.numpy as np

print("imported", 12345)


def good(x):
    return np.tanh(x) * 2


def dies(x):
    os.kill(os.getpid(), signal.SIGKILL)


def hangs(x):
    time.sleep(600)


def step(state, x):
    return state + x
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    targets = [
        f'[target.{n}]\nentry = "program:{n}"\nargs = ["f32[64]"]\n'
        for n in ("good", "dies", "hangs")
    ]
    step = '[target.step]\nentry = "program:step"\nargs = ["f32[64]", "f32[64]"]\n'
    (folder / "olympus.toml").write_text("".join(targets) + step + 'donate = ["state"]\n')
    return folder


def works(name: str, **effort: float) -> SamplerWork:
    return SamplerWork.of_target(Request(name).spec(), effort=Effort(**effort))


def test_two_programs_are_sampled_in_turns(work: Path) -> None:
    samplers = [Sampler(works(name, time_limit=0.3)) for name in ("good", "step")]
    with closing(samplers[0]) as a, closing(samplers[1]) as b:
        prepared = a.prepare(), b.prepare()
        pairs = [(a.sample(prepared[0].batch), b.sample(prepared[1].batch)) for _ in range(3)]
        ours, theirs = a.finish("samples"), b.finish("samples")
    for measurement, samples_of_side in zip((ours, theirs), zip(*pairs, strict=True), strict=True):
        assert measurement.metrics["steady-call"].samples == samples_of_side
        assert Measured.of_document(json.loads(json.dumps(measurement.document()))) == measurement
    assert (ours.facts["donated"], theirs.facts["donated"]) == ("none", "fed back")
    assert ours.metrics["steady-call"].batch == prepared[0].batch > 1
    assert ours.metrics["first-call"].samples == (prepared[0].first_call,)
    assert ours.facts["input_sets"] == 2
    assert ours.machine == theirs.machine
    assert ours.fingerprint != theirs.fingerprint


def test_a_killed_worker_is_an_error_of_the_next_request(work: Path) -> None:
    with closing(Sampler(works("dies"))) as sampler:
        with pytest.raises(CompileError, match="was ended by SIGKILL") as caught:
            sampler.prepare()
        assert "(stage: trace)" in str(caught.value)
        with pytest.raises(CompileError):
            sampler.sample(1)


@pytest.mark.parametrize("answer", [None, "12", -1.0, float("nan"), [1.0], {"seconds": 1}])
def test_a_malformed_answer_is_an_error(answer: object) -> None:
    class Forged:
        def request(self, _request: object) -> object:
            return answer

        end = request

    sampler = object.__new__(Sampler)
    sampler.work = SamplerWork("a", "m:a", Request("m:a").spec())
    sampler._process = Forged()  # type: ignore[assignment]
    for request in (sampler.prepare, lambda: sampler.sample(1), sampler.finish):
        with pytest.raises(CompileError, match="gave what is not a measurement"):
            request()


def test_a_target_that_hangs_ends_at_the_time_limit(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "hangs", "--give-up", "1")
    assert result.exit_code == 4, result.output
    assert re.search(r"the time limit of 1 s has passed \(stage: (import|trace)\)", result.stderr)


def test_failures_are_lines_and_other_targets_are_measured(work: Path, invoke: Invoke) -> None:
    result = invoke("bench", "dies", "good", "--time-limit", "0.1")
    assert result.exit_code == 4, result.output
    table = result.stdout.partition("all targets\n")[2].splitlines()
    words = {line.split()[0]: line for line in table[1:]}
    assert "failed: the process that measures was ended by SIGKILL" in words["dies"]
    assert words["good"].endswith("measured")
    assert "target 'dies': the process that measures was ended by SIGKILL" in result.stderr


@pytest.mark.parametrize(
    ("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_an_interruption_keeps_the_samples(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, kind: signal.Signals, code: int
) -> None:
    sample = Sampler.sample
    samples: list[float] = []

    def interrupted(self: Sampler, calls: int) -> float:
        if len(samples) == 3:
            signal.raise_signal(kind)
        samples.append(sample(self, calls))
        return samples[-1]

    monkeypatch.setattr(Sampler, "sample", interrupted)
    result = invoke("bench", "dies", "step", "good", "--time-limit", "30", "--json")
    assert result.exit_code == code, result.output
    document = json.loads(result.stdout)
    (target,), (failure,) = document["targets"], document["failed"]
    assert (target["target"], target["facts"]["stopped_by"]) == ("step", "interrupted")
    assert target["metrics"]["steady-call"]["samples"] == samples
    error = failure["error"]
    assert (failure["target"], error["kind"], error["exit_code"]) == ("dies", "CompileError", 4)


def test_imports_are_timed_in_a_fresh_interpreter(work: Path) -> None:
    spec = Request("good").spec()
    times = import_seconds(spec, 0)
    assert list(times) == ["import", "import-program"]
    assert all(len(seconds) == 1 and 0 < seconds[0] < 60 for seconds in times.values())
    assert list(import_seconds(None, 0)) == ["import"]
    (work / "program.py").write_text("raise SystemExit(3)\n")
    assert import_seconds(spec, 0) == {}
    daemon = (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(5)\n    os._exit(0)\n"
    )
    (work / "program.py").write_text(daemon + "def good(x):\n    return x\n")
    assert list(import_seconds(replace(spec), 0)) == ["import", "import-program"]


def test_a_mistake_is_reported_before_measuring(work: Path, invoke: Invoke) -> None:
    big = str(10**400)  # too large for a float
    with (work / "olympus.toml").open("a") as file:
        file.write('trips = { "program.py:99" = 3 }\n')
        file.write(f"matrix = {{ k = [nan, true, 2, {big}] }}\n")
        file.write('static = { k = "{k}" }\n')
    (work / "program.py").write_text("def step(state, x, k):\n    return state + x\n")
    specs = [Request(f"step@k={k}").spec() for k in ("nan", "true", "2", big)]
    assert [SamplerWork.of_target(spec).matrix["k"] for spec in specs] == ["nan", "true", 2, big]
    result = invoke("bench", "step@k=2", "--time-limit", "600")
    assert result.exit_code == 2, result.output
    assert "trips names 'program.py:99', where the program has no loop" in result.stderr
