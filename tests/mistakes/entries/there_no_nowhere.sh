olympus trace add --project nowhere
# exit 2
# error: nowhere does not exist
# hint: olympus init writes an olympus.toml
