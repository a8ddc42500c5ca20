olympus trace add.olympus
# exit 2
# error: 'add.olympus' is a bundle, and this command takes an entry or a target
# hint: olympus run add.olympus runs it
