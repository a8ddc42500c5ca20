olympus trace nosuch:f
# exit 2
# error: there is no module 'nosuch'
# hint: looked in ..., which has leaving, model, odd
