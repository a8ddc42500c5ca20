olympus inspect model.py
# exit 5
# error: model.py is not an .olympus bundle: it is not a zip file
olympus inspect nosuch.olympus
# exit 2
# error: nosuch.olympus cannot be read: No such file or directory
