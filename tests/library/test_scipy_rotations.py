"""olympus.scipy.spatial.transform against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import jax.scipy.spatial.transform
import numpy as np
import pytest

import olympus as ox
import olympus.scipy
from olympus.errors import ArgumentError, UnsupportedError
from tests.library.oracle import check, row

TRANSFORM = {ox.numpy: olympus.scipy.spatial.transform, jax.numpy: jax.scipy.spatial.transform}
rng = np.random.default_rng(0)
QUATS = rng.normal(size=(6, 4)).astype(np.float32)
VECTORS = rng.normal(size=(6, 3)).astype(np.float32)
ANGLES = rng.uniform(-180, 180, (6, 3)).astype(np.float32)

Call = Callable[..., Any]
CALLS: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "from_quat": (lambda r, q: r.from_quat(q), (QUATS,)),
    "one": (lambda r, q: r.from_quat(q), (QUATS[0],)),
    "from_rotvec": (lambda r, v: r.from_rotvec(v), (VECTORS,)),
    "from_rotvec small": (lambda r, v: r.from_rotvec(1e-5 * v), (VECTORS,)),
    "from_rotvec degrees": (lambda r, v: r.from_rotvec(v, degrees=True), (VECTORS,)),
    "from_mrp": (lambda r, v: r.from_mrp(v), (VECTORS,)),
    "from_matrix": (lambda r, q: r.from_matrix(r.from_quat(q).as_matrix()), (QUATS,)),
    "from_euler": (lambda r, a: r.from_euler("xyz", a, degrees=True), (ANGLES,)),
    "from_euler XZX": (lambda r, a: r.from_euler("XZX", a), (ANGLES,)),
    "from_euler one": (lambda r, a: r.from_euler("y", a), (ANGLES[:, :1],)),
    "identity": (lambda r: r.identity(), ()),
    "concatenate": (lambda r, q: r.concatenate([r(q), r(q[1:])]), (QUATS,)),
    "product": (lambda r, q: r.from_quat(q) * r.from_quat(q[::-1]), (QUATS,)),
    "inv": (lambda r, q: r.from_quat(q).inv()[1:3], (QUATS,)),
    "mean": (lambda r, q: r.from_quat(q * q).mean().as_matrix(), (QUATS,)),
    "weighted": (lambda r, q, w: r.from_quat(q).mean(w).as_matrix(), (QUATS, np.arange(6))),
    "apply": (lambda r, q, v: r.from_quat(q).apply(v), (QUATS, VECTORS)),
    "apply inverse": (lambda r, q, v: r.from_quat(q).apply(v[0], True), (QUATS, VECTORS)),
    "as_rotvec": (lambda r, q: r.from_quat(q).as_rotvec(), (QUATS,)),
    "as_rotvec small": (lambda r, v: r.from_rotvec(1e-4 * v).as_rotvec(True), (VECTORS,)),
    "as_mrp": (lambda r, q: r.from_quat(q).as_mrp(), (QUATS,)),
    "as_quat": (lambda r, q: r.from_quat(q).as_quat(True, True), (QUATS,)),
    "magnitude": (lambda r, q: r.from_quat(q).magnitude(), (QUATS,)),
    **{
        f"as_euler {seq}": (lambda r, q, seq=seq: r.from_quat(q).as_euler(seq, True), (QUATS,))
        for seq in ("xyz", "zyx", "XYZ", "zxz", "YXY", "yzx")
    },
    "as_euler locked": (lambda r, a: r.from_euler("xyz", a, True).as_euler("xyz"),
                        (np.array([[10.0, 90, 20]], np.float32),)),
}  # fmt: skip


def test_rotations() -> None:
    def of(name: str) -> Any:
        call, args = CALLS[name]
        return row(
            name,
            lambda n, *given: _array(call(TRANSFORM[n].Rotation, *given)),
            *args,
            rtol=1e-4,
            atol=3e-4 if "locked" in name or "euler" in name else 1e-5,
        )

    check([of(name) for name in CALLS], weak=False)


def _array(x: Any) -> Any:
    return getattr(x, "quat", x)


def test_interpolation() -> None:
    def call(n: Any, quats: Any) -> Any:
        t = TRANSFORM[n]
        between = t.Slerp.init(np.arange(6.0), t.Rotation.from_quat(quats))
        return [between(np.array([0.0, 0.25, 3.5, 5.0])).as_quat(True), between(1.5).as_quat(True)]

    check([row("slerp", call, QUATS, rtol=1e-4, atol=1e-5)], weak=False)


def test_derivatives() -> None:
    def call(n: Any, v: Any) -> Any:
        package = ox if n is ox.numpy else jax

        def f(v: Any) -> Any:
            turn = TRANSFORM[n].Rotation.from_rotvec(v)
            return n.sum(turn.apply(VECTORS[0]) * VECTORS[1])

        return package.vmap(package.grad(f))(v)

    check([row("grad", call, VECTORS, rtol=1e-4, atol=1e-5)], weak=False)


def test_errors() -> None:
    t = olympus.scipy.spatial.transform
    one, several = t.Rotation.identity(), t.Rotation(ox.numpy.asarray(QUATS))
    assert one.single and len(several) == 6
    for call, error, text in (
        (lambda: t.Rotation.from_euler("xyzx", ANGLES), ArgumentError, "upto 3"),
        (lambda: t.Rotation.from_euler("xY", ANGLES), ArgumentError, "axes from"),
        (lambda: t.Rotation.from_euler("xxy", ANGLES), ArgumentError, "consecutive"),
        (lambda: one.as_euler("xy"), ValueError, "Expected 3 axes"),
        (lambda: one[0], TypeError, "not subscriptable"),
        (lambda: len(one), TypeError, "no len"),
        (lambda: t.Rotation.random(0), UnsupportedError, "random"),
        (lambda: t.Rotation.identity(3), UnsupportedError, "num=None"),
        (lambda: several.mean(np.ones(3)), ValueError, "weights"),
        (lambda: t.Slerp.init(np.ones(1), one), ValueError, "at least 2"),
        (lambda: t.Slerp.init(np.ones(1), 3), TypeError, "must be a `Rotation`"),
        (lambda: t.Slerp.init(np.ones(5), several), ValueError, "timestamps"),
        (lambda: t.Slerp.init(np.arange(6.0), several)(QUATS), ValueError, "1-dimensional"),
    ):
        with pytest.raises(error, match=text):
            call()
