olympus trace odd:jitted
# exit 2
# error: odd:jitted is a generator function, which returns no arrays
# hint: return a list or a tuple in the place of `yield`
