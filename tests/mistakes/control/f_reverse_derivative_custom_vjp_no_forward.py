import numpy as np

import olympus

X = np.float32(0.7)


def reverse(ox, nondiff=()):
    @ox.custom_vjp
    def f(x, y):
        return {"out": ox.numpy.sin(x) * y}

    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, ct: (ct["out"] * 7 * r[1], None))
    return f


olympus.jvp(reverse(olympus), (X, X), (X, X))
# TransformError: can't apply forward-mode autodiff (jvp) to a custom_vjp function: 'f' has no forward derivative for jvp, jacfwd and linearize
# hint: use vjp, grad or jacrev, or define the function with custom_jvp
