olympus trace odd:Net
# exit 2
# error: odd:Net is a class, not a function
# hint: name a function that makes an object of it and returns arrays
