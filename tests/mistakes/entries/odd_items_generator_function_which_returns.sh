olympus trace odd:items
# exit 2
# error: odd:items is a generator function, which returns no arrays
# hint: return a list or a tuple in the place of `yield`
