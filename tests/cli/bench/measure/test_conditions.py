"""The load and the clock as the kernel reports them, from files in the place of /proc and /sys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import olympus
from olympus_cli.bench.measure.conditions import (
    Others,
    conditions,
    free_memory,
    host,
    machine,
    trouble,
)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


VERSION_2 = {
    "proc/loadavg": "1.25 0.80 0.50 2/100 1234\n",
    "proc/pressure/cpu": "some avg10=12.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00\n",
    "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable:  800 kB\n",
    "proc/self/cgroup": "0::/user/job\n",
    "sys/fs/cgroup/user/job/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/user/job/memory.max": "409600\n",
    "sys/fs/cgroup/user/job/memory.current": "102400\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2000000\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3000000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
}
VERSION_1 = {
    "proc/cpuinfo": "processor: 0\ncpu MHz\t\t: 2600.5\nprocessor: 1\ncpu MHz\t\t: 2600.5\n",
    "proc/self/cgroup": "4:cpu:/\n2:memory:/\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "96\n",
}


def test_conditions_are_read_from_the_kernel(tmp_path: Path) -> None:
    load = conditions(write(tmp_path, VERSION_2))
    assert (load["load"], load["waiting"], load["cpu_limit"]) == (1.25, 12.5, 1.5)
    assert (load["clock_hz"], load["governor"]) == (3e9, "powersave"), "of the busy processor"
    assert (load["memory_free"], load["memory_limit"]) == (819200.0, 409600.0)
    assert free_memory(tmp_path) == 409600 - 102400


def test_conditions_are_read_from_an_older_kernel(tmp_path: Path) -> None:
    load = conditions(write(tmp_path, VERSION_1))
    assert (load["clock_hz"], load["governor"], load["waiting"]) == (2600.5e6, None, None)
    assert (load["cpu_limit"], load["memory_limit"]) == (0.5, 4096.0)
    assert free_memory(tmp_path) == 4000


@pytest.mark.parametrize(
    "text", ["", "nonsense", "max 100000", "-1", "nan", "\0", "MemAvailable: x kB"]
)
def test_missing_conditions_are_unknown(tmp_path: Path, text: str) -> None:
    names = [*VERSION_2, *VERSION_1]
    root = write(tmp_path, {name: text for name in names if not name.endswith("cgroup")})
    load = conditions(root)
    unknown = ("waiting", "clock_hz", "cpu_limit", "memory_free", "memory_limit")
    assert {load[key] for key in unknown} == {None}
    assert free_memory(root) is None
    assert conditions(tmp_path / "nowhere")["load"] is None


def test_a_busy_machine_is_a_warning() -> None:
    idle = {"load": 0.2, "waiting": 0.5, "threads": 2.0, "clock_hz": 3e9}
    assert trouble(idle, idle) == []
    assert "a load of 3 with 2 processors" in trouble({**idle, "load": 3.0}, idle)[0]
    assert "waited for a processor 40% of the time" in trouble({**idle, "waiting": 40.0}, idle)[0]
    (slower,) = trouble(idle, {**idle, "clock_hz": 2e9})
    assert slower == "the clock fell from 3.00 to 2.00 GHz while it was measured"


def test_the_machine_has_its_device_and_processor() -> None:
    description = machine(olympus.target("cpu"))
    assert list(description) == ["cpu", "threads", "os", "device"]
    assert all(description.values())
    assert {**host(), "device": description["device"]} == description


def statistics(busy: int, steal: int) -> dict[str, str]:
    """The text of /proc/stat if this process's first processor has been busy for `busy` ticks."""
    first, *others = sorted(os.sched_getaffinity(0))
    lines = [f"cpu{first} {busy} 0 0 5000 700 0 0 {steal} 30 0"]
    lines += [f"cpu{number} 0 0 0 900 0 0 0 0 0 0" for number in (*others, 10**6)]
    return {"proc/stat": "cpu  1 2 3\n" + "\n".join(lines) + "\n\nintr 9 9\n"}


def test_processor_time_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, now = iter((10.0, 12.0, 500.0)), iter((100.0, 104.0, 108.0))
    monkeypatch.setattr("time.process_time", lambda: next(own))
    others = Others(write(tmp_path, statistics(1000, 50)), lambda: next(now))
    tick = os.sysconf("SC_CLK_TCK")
    write(tmp_path, statistics(1000 + 5 * tick, 50 + 3 * tick))
    assert others.mean() == pytest.approx((5 + 3 - 2) / 4)
    assert others.mean() == 0.0, "clocks that disagree are not a load below zero"


@pytest.mark.parametrize(
    "text", ["", "cpu0", "cpu0 x", "cpu0 0 0 0 0 0 0 0 0", "cpu0 1 -2 3 4 5 6 7 8", "cpu0 1 2 3 4"]
)
def test_processor_time_of_other_programs_may_be_unknown(tmp_path: Path, text: str) -> None:
    numbers = sorted(os.sched_getaffinity(0))
    lines = [text.replace("cpu0", f"cpu{number}") for number in numbers]
    others = Others(write(tmp_path, {"proc/stat": "\n".join(lines)}))
    assert others.mean() is None
