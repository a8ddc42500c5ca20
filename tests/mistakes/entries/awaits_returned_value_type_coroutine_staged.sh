olympus trace odd:awaits --shapes 'x=f32[2]'
# exit 3
# error: function 'awaits' traced for jit returned a value of type <class 'coroutine'>, which is not a valid JAX type: a staged function returns arrays, scalars and containers of these
#   odd.py:40
#     def awaits(x):
# hint: an async function cannot be staged: write it with `def`
