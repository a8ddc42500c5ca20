# olympus trace f_raised_typeerror_while_was_traced.py:f --shapes 'i32[]'
import numpy


def f(n):
    return numpy.zeros(n)


# exit 3
# error: f raised TypeError while it was traced: expected a sequence of integers or a single integer, got 'JitTracer(int32[])'
#   f_raised_typeerror_while_was_traced.py:6
#     return numpy.zeros(n)
# hint: take the size from the shape of an array, such as x.shape[0], or make the argument that gives it static: --static n=8, or static_argnames="n" of olympus.jit
