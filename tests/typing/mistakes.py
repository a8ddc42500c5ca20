"""Mistakes of users, and the code of the error that a strict type check finds in each line."""

from __future__ import annotations

import numpy as np

import olympus as ox
import olympus.numpy as jnp
from olympus import lax, nn, random
from olympus.scipy import special

x = jnp.ones((2, 3))

jnp.sin("0")  # E: arg-type
jnp.sin([1.0, 2.0])  # E: arg-type
jnp.add(x, None)  # E: arg-type
jnp.add(x)  # E: call-arg
jnp.add(x, [1, 2])  # E: arg-type
jnp.sum([x, x])  # E: arg-type
jnp.sum(x, axis="0")  # E: arg-type
jnp.sum(x, axes=0)  # E: call-arg
jnp.sum(x, dtype=3)  # E: arg-type
jnp.nanmax(x, axis=1.0)  # E: arg-type
jnp.max("x")  # E: arg-type
jnp.all(x, where="x")  # E: arg-type
jnp.mean(x, keepdims="yes")  # E: arg-type
jnp.median(x, axis="last")  # E: arg-type
jnp.quantile(x)  # E: call-arg
jnp.cumsum(x, dtype=1.5)  # E: arg-type
jnp.zeros("3")  # E: arg-type
jnp.zeros(3.0)  # E: arg-type
jnp.zeros((2, 3), dtype=32)  # E: arg-type
jnp.ones((2, "3"))  # E: arg-type
jnp.full((2, 3))  # E: call-arg
jnp.linspace(0, 1, num=0.5)  # E: call-overload
jnp.arange("10")  # E: arg-type
jnp.reshape(x, "flat")  # E: arg-type
jnp.concatenate(x, x)  # E: arg-type
jnp.stack([x, "y"])  # E: list-item
jnp.stack(1.0)  # E: arg-type
jnp.transpose(x, axes="ji")  # E: arg-type
jnp.clip(x, "0", 1)  # E: arg-type
jnp.where(x > 0, x)  # E: call-overload
jnp.unique(["a"])  # E: call-overload
jnp.einsum("ij->i", "x")  # E: arg-type
jnp.matmul(x, x, precision=3)  # E: arg-type
jnp.linalg.svd(x, full_matrices=1.5)  # E: call-overload
jnp.linalg.qr(x).q  # E: attr-defined
jnp.hanning("10")  # E: arg-type
jnp.sinn(x)  # E: attr-defined
special.gammaln("x")  # E: arg-type
special.betaln(x)  # E: call-arg
jnp.float32("1.0")  # E: arg-type

x.smu()  # E: attr-defined
x.sum(axis="0")  # E: arg-type
x.sum(axes=0)  # E: call-arg
x.astype(3)  # E: arg-type
x.reshape("flat")  # E: arg-type
x.T()  # E: operator
x.shape()  # E: operator
x["name"]  # E: index
x[1.5]  # E: index
x[0] = 1.0  # E: index
x.at[0].sett(1.0)  # E: attr-defined
x.at[0].set("1")  # E: arg-type
x.at[0].set(1.0, moed="drop")  # E: call-arg
x.at["name"].get()  # E: index
x + "1"  # E: operator
x @ None  # E: operator
{} + x  # E: operator
-x.shape  # E: operator
x < "1"  # E: operator
x.dtype.nam  # E: attr-defined

text: str = jnp.sum(x)  # E: assignment
host: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = jnp.sin(x)  # E: assignment
number: int = x.max()  # E: assignment
length: int = jnp.nonzero(x)  # E: assignment
array: ox.Array = x.shape  # E: assignment

lax.sinn(x)  # E: operator
nn.relux(x)  # E: attr-defined
ox.gradd(jnp.sin)  # E: attr-defined
random.norml(random.key(0))  # E: attr-defined
random.normal()  # E: call-arg
random.key()  # E: call-arg
jnp.sin(random.key(0))  # E: arg-type
random.key(0) + 1  # E: operator
random.key(0).take("0")  # E: arg-type
random.key(0).reshape(2, order=0)  # E: arg-type
jnp.iinfo("int8").smax  # E: attr-defined
jnp.svd(x)  # E: attr-defined
jnp.linspace(0, 1, 5, retstep="yes")  # E: call-overload
jnp.unique(x, return_counts=True).sum()  # E: attr-defined
special.poch(m=x)  # E: call-arg


def add(c: ox.Array, v: ox.Array) -> tuple[ox.Array, None]:
    return c + v, None


ox.vmap(ox.jit(jnp.sin)).lower(x)  # E: attr-defined
ox.vmap(jnp.sin)("x")  # E: arg-type
ox.checkpoint(ox.jit(jnp.sin)).lower(x)  # E: attr-defined
text = lax.pmax(1.0, "i")  # E: assignment
text = lax.scan(add, 0.0, x)[0]  # E: assignment
lax.scan(add, "0", x)  # E: arg-type
