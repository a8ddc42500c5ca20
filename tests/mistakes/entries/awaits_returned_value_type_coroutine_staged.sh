olympus trace odd:awaits --shapes 'x=f32[2]'
# exit 3
# error: 'awaits' returned a value of type coroutine; a staged function returns arrays, scalars and containers of these
#   odd.py:45
#     def awaits(x):
# hint: an async function cannot be staged: write it with `def`
