olympus trace odd:later
# exit 2
# error: odd:later is an async function, which returns no arrays
# hint: write it with `def`
