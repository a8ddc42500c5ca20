"""Modules of PyTorch for tests; only tests with the mark `torch` import this file."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Attention and a perceptron with residual connections."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.5))
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        return x + self.down(self.mlp(self.norm(x)))


class Transformer(nn.Module):
    """Two layers, a tied output layer, a buffer outside of the state dict, and a dict as result."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(32, 16)
        self.layers = nn.ModuleList(Layer(16, 4) for _ in range(2))
        self.head = nn.Linear(16, 32, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer("offset", torch.linspace(0, 1, 16), persistent=False)

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        x = self.tokens(tokens) + self.offset
        for layer in self.layers:
            x = layer(x)
        return {"logits": self.head(x), "hidden": x}


class ResNet(nn.Module):
    """Convolutions with batch norms, a residual connection and two kinds of pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8)])
        self.conv = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.classes = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norms[0](self.stem(x))), 3, stride=2, padding=1)
        x = F.relu(x + self.norms[1](self.conv(x)))
        return self.classes(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    """A bidirectional LSTM of two layers, with its final state in the result."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, state = self.lstm(x)
        return self.out(y[:, -1]), state


class Optional(nn.Module):
    """Static arguments, an array by name, and a buffer that is changed."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.linear = nn.Linear(4, 4)

    def forward(self, params: Tensor, scale: float = 1.0, *, mask: Tensor | None = None) -> Tensor:
        self.calls += 1
        y = self.linear(params) * scale
        return y if mask is None else torch.where(mask, y, 0)


class Branch(nn.Module):
    """A branch on a value."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:  # the branch
            return x + 1
        return x


class Nonzero(nn.Module):
    """A result whose shape depends on values."""

    def forward(self, x: Tensor) -> Tensor:
        return x.nonzero()


class Noise(nn.Module):
    """An operator that is not supported, in a part of the module."""

    class Part(nn.Module):
        """The part."""

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.rand_like(x)  # the operator

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Sequential(nn.ReLU(), self.Part())

    def forward(self, x: Tensor) -> Tensor:
        return self.parts(x)


class Dtypes(nn.Module):
    """Results of several dtypes."""

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        return x.argmax(1), torch.arange(3), x.double(), x.to(torch.bfloat16), x > 0


def initialized(module: nn.Module) -> nn.Module:
    """Return a module with parameters and statistics that differ from their first values."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) - 0.3)
        for name, tensor in module.named_buffers():
            if name.endswith("running_var"):
                tensor.abs_().add_(0.5)
    return module
