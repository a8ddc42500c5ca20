"""The methods of PyTorch's tensors that arrays do not have, each with the expression to write.

This module is imported only for an error.
"""

from __future__ import annotations

_NO_DEVICE = "a traced array has no device: the target's backend decides where it runs"
_NO_GRADIENT = "olympus.lax.stop_gradient(x) stops a gradient"
_DIFFERENTIATE = "olympus.grad(loss) is a function that returns the gradient, for a function `loss`"
_IN_PLACE = (
    "arrays do not change in place: bind the result, such as x = x + 1 or x = x.at[i].set(y)"
)
_IS_CONTIGUOUS = "use x as it is: the compiler chooses the layout"

#: The expression in the place of an attribute, for an array `x` of two axes.
EXPRESSIONS = {
    "t": "x.T",
    "H": "x.conj().T",
    "mH": "x.conj().mT",
    "adjoint": "x.conj().mT",
    "permute": "x.transpose(1, 0)",
    "movedim": "olympus.numpy.moveaxis(x, 0, 1)",
    "swapdims": "x.swapaxes(0, 1)",
    "unsqueeze": "olympus.numpy.expand_dims(x, 0)",
    "expand": "olympus.numpy.broadcast_to(x, (4, *x.shape))",
    "expand_as": "olympus.numpy.broadcast_to(x, y.shape)",
    "reshape_as": "x.reshape(y.shape)",
    "view_as": "x.reshape(y.shape)",
    "unflatten": "x.reshape(x.shape[0], -1)",
    "numel": "x.size",
    "nelement": "x.size",
    "element_size": "x.itemsize",
    "dim": "x.ndim",
    "ndimension": "x.ndim",
    "float": "x.astype('float32')",
    "double": "x.astype('float64')",
    "half": "x.astype('float16')",
    "bfloat16": "x.astype('bfloat16')",
    "long": "x.astype('int64')",
    "int": "x.astype('int32')",
    "short": "x.astype('int16')",
    "char": "x.astype('int8')",
    "byte": "x.astype('uint8')",
    "bool": "x.astype(bool)",
    "type": "x.astype('float32')",
    "type_as": "x.astype(y.dtype)",
    "to": "x.astype('float32')",
    "clone": "x.copy()",
    "clamp": "x.clip(0, 1)",
    "clamp_min": "x.clip(0)",
    "clamp_max": "x.clip(max=1)",
    "mm": "x @ y.T",
    "bmm": "x @ y.T",
    "matmul": "x @ y.T",
    "mv": "x @ y[0]",
    "mul": "x * y",
    "div": "x / y",
    "add": "x + y",
    "sub": "x - y",
    "pow": "x ** y",
    "neg": "-x",
    "eq": "x == y",
    "ne": "x != y",
    "gt": "x > y",
    "ge": "x >= y",
    "lt": "x < y",
    "le": "x <= y",
    "rsqrt": "olympus.lax.rsqrt(x)",
    "gather": "olympus.numpy.take_along_axis(x, i, axis=1)",
    "index_select": "x.take(i[0], axis=1)",
    "select": "x[:, 0]",
    "narrow": "x[:, 0:2]",
    "masked_fill": "olympus.numpy.where(y > 0, 0.0, x)",
    "masked_select": "x[mask]",
    "scatter_add": "x.at[0, 1].add(1.0)",
    "index_add": "x.at[0].add(1.0)",
    "index_put": "x.at[0].set(1.0)",
    "topk": "olympus.lax.top_k(x, 2)",
    "logsumexp": "olympus.nn.logsumexp(x, axis=1)",
    "unbind": "[*x]",
    "chunk": "olympus.numpy.split(x, 2, axis=0)",
    "new_zeros": "olympus.numpy.zeros((2, 3), x.dtype)",
    "new_ones": "olympus.numpy.ones((2, 3), x.dtype)",
}

_NOTES = {
    **dict.fromkeys(("cuda", "cpu", "device", "is_cuda", "get_device"), _NO_DEVICE),
    **dict.fromkeys(("detach", "detach_", "data"), _NO_GRADIENT),
    **dict.fromkeys(("backward", "grad", "requires_grad", "requires_grad_"), _DIFFERENTIATE),
    **dict.fromkeys(("contiguous", "is_contiguous", "pin_memory"), _IS_CONTIGUOUS),
    "numpy": "return the array from the traced function, and call numpy.asarray on the result",
    "to": f"{EXPRESSIONS['to']} converts the dtype; {_NO_DEVICE}",
}


def torch_remedy(name: str) -> str | None:
    """The hint for an attribute `name` that PyTorch's tensors have and arrays do not; else None.

    >>> torch_remedy("t")
    'arrays have no t: write x.T'
    """
    if name in _NOTES:
        return _NOTES[name]
    if name in EXPRESSIONS:
        return f"arrays have no {name}: write {EXPRESSIONS[name]}"
    if name.endswith("_") and not name.startswith("_"):
        return _IN_PLACE
    return None
