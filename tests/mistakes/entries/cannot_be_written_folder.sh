olympus trace add -o .
# exit 2
# error: . cannot be written: it is a folder
