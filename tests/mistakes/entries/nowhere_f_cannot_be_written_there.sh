olympus trace add -o nowhere/f
# exit 2
# error: nowhere/f cannot be written: there is no folder nowhere
