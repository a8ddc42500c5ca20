olympus trace nosuch:f
# exit 2
# error: no module is named 'nosuch'
# hint: looked in ..., which has leaving, model, odd
