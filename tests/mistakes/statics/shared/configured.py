from __future__ import annotations

import dataclasses
import enum
from typing import Literal, NamedTuple

import olympus.numpy as np


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


class Span(NamedTuple):
    low: float
    high: float = 1.0


@dataclasses.dataclass(frozen=True)
class Layer:
    width: int
    act: Act = Act.RELU


@dataclasses.dataclass(frozen=True)
class Config:
    layer: Layer
    sizes: tuple[int, ...] = ()
    span: Span = Span(0.0)
    mode: Literal["fast", "slow"] = "fast"
    rate: float | None = None
    names: frozenset = frozenset()

    def __post_init__(self):
        if self.layer.width < 0:
            raise ValueError("the width is below 0")


@dataclasses.dataclass
class Loose:
    width: int


class Opaque:
    pass


CONFIG = Config(Layer(3), names=frozenset({"a", "b", "c", "d"}))
OPAQUE = Opaque()
LOOSE = Loose(3)


def config():
    return Config(Layer(5))


def sized(width):
    return Config(Layer(width))


def broken():
    raise ValueError("no config today")


def forward(x, config: Config, act: Act = Act.RELU):
    assert isinstance(config, Config) and isinstance(act, Act), (config, act)
    assert isinstance(config.layer, Layer) and isinstance(config.span, Span)
    return np.tanh(x) * config.layer.width + sum(config.sizes)


def loose(x, config: Loose):
    return x * config.width


def plain(x, config):
    return x
