olympus trace add -o nowhere/f
# exit 2
# error: nowhere/f cannot be written: the folder nowhere does not exist
