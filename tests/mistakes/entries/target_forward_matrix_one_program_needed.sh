olympus trace forward
# exit 2
# error: target 'forward' has a matrix, and this command takes one program
# hint: name one of forward@batch=1, forward@batch=8
