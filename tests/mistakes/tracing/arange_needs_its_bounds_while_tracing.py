# olympus trace arange_needs_its_bounds_while_tracing.py:f --shapes 'i32[]'
import olympus.numpy as jnp


def f(n):
    return jnp.arange(n)


# exit 3
# error: Abstract tracer value encountered where concrete value is expected: it arose in the jnp.arange argument 'stop', which is the argument 'n' of 'f'
#   arange_needs_its_bounds_while_tracing.py:6
#     return jnp.arange(n)
# hint: take the size from the shape of an array, such as x.shape[0], or make 'n' static: --static n=8, or static_argnames="n" of olympus.jit; or use a mask
