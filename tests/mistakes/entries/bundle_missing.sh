olympus trace nosuch.olympus
# exit 2
# error: file nosuch.olympus does not exist
