olympus trace model:add --project nowhere
# exit 2
# error: --project nowhere: the folder does not exist
