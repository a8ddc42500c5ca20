"""The process that measures a program, and answers the requests of a `Sampler`.

A request is a list: ["prepare"], ["sample", CALLS], or ["finish", WHY], which is the last.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from olympus_cli.bench.measure.measuring import Measuring
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.workers.messages import Channel


def serve(channel: Channel, work: SamplerWork) -> dict[str, Any]:
    """Answer requests until the last one, whose answer is returned."""
    channel("load")
    measuring = Measuring(work, channel)
    while True:
        match channel.request():
            case ["prepare"]:
                channel.answer(asdict(measuring.prepare()))
            case ["sample", int(calls)]:
                channel.answer(measuring.sample(calls))
            case ["finish", stopped]:
                return measuring.finish(stopped).document()
