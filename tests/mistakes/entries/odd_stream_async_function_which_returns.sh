olympus trace odd:stream
# exit 2
# error: odd:stream is an async function, which returns no arrays
# hint: write it with `def`
